// What acting on predictions loses against acting on recalibrated ones, threshold by threshold.
//
// Somebody acts from the threshold t on; acting is worth y - t. With levels (v, weight, positives)
// and recalibrated pools (mean x = positives / weight) of the same rows the loss is
//     G(t) = sum over pools of weight (x - t)+  -  sum over levels v >= t of (positives - weight t)
//          = t (pool weight below t - level weight below t) - (the same for positives).
// G is linear between levels but for convex kinks at the means x, and jumps by the residual of a
// level there: from the left, a forecast equal to t acts; from the right it does not. So its upper
// concave hull has vertices at levels only, besides (0, 0) and (1, 0).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "law.hpp"
#include "sort.hpp"

namespace calibrant {

// Recalibrated rows: pools of them, in any order, with positive weight.
struct Pools {
    const double* weight;
    const double* positives;
    std::size_t count;

    double mean(std::size_t i) const { return positives[i] / weight[i]; }
};

// Pool sums less level sums, of what lies below a threshold.
class Excess {
public:
    void add_pool(const Pools& pools, std::size_t i) {
        weight_.add(pools.weight[i]);
        positives_.add(pools.positives[i]);
    }
    void remove_level(const Law& law, std::size_t i) {
        weight_.add(-law.weight[i]);
        positives_.add(-law.positives[i]);
    }
    void add(const Excess& other) {
        weight_.add(other.weight_.value());
        positives_.add(other.positives_.value());
    }
    double loss(double threshold) const {
        return std::fma(threshold, weight_.value(), -positives_.value());
    }

private:
    Sum weight_;
    Sum positives_;
};

// The pools with a mean strictly between 0 and 1, by their mean.
class SortedPools {
public:
    explicit SortedPools(const Pools& pools) : pools_(pools) {
        items_ = allocate<Keyed>(pools.count);
        for (std::size_t i = 0; i < pools.count; ++i)
            if (between(i))
                items_[count_++] = {std::bit_cast<std::uint64_t>(pools.mean(i)),
                                    static_cast<std::uint32_t>(i)};
        const Buffer<Keyed> scratch = allocate<Keyed>(count_);
        radix_sort<false>(items_.get(), scratch.get(), count_);
    }
    std::size_t count() const { return count_; }
    double mean(std::size_t k) const { return std::bit_cast<double>(items_[k].key); }
    std::size_t pool(std::size_t k) const { return items_[k].index; }

private:
    bool between(std::size_t i) const {
        return pools_.positives[i] > 0.0 && pools_.positives[i] < pools_.weight[i];
    }

    Pools pools_;
    Buffer<Keyed> items_;
    std::size_t count_ = 0;
};

// Visits every level with the losses from its left and right, and every kink between levels.
template <class AtLevel, class AtKink>
void sweep_thresholds(const Law& law, const Pools& pools, const SortedPools& sorted,
                      AtLevel at_level, AtKink at_kink) {
    Excess excess;
    for (std::size_t i = 0; i < pools.count; ++i)
        if (!(pools.positives[i] > 0.0)) excess.add_pool(pools, i);
    std::size_t next = 0;
    const auto pass_kinks = [&](double upto) {
        while (next < sorted.count() && sorted.mean(next) <= upto) {
            const double mean = sorted.mean(next);
            while (next < sorted.count() && sorted.mean(next) == mean)
                excess.add_pool(pools, sorted.pool(next++));
            if (mean < upto) at_kink(mean, excess.loss(mean));
        }
    };
    for (std::size_t i = 0; i < law.count; ++i) {
        const double threshold = law.prediction[i];
        pass_kinks(threshold);
        const double left = excess.loss(threshold);
        excess.remove_level(law, i);
        at_level(threshold, left, excess.loss(threshold));
    }
    pass_kinks(1.0);
}

// Upper concave hull of points that come from left to right.
class ConcaveHull {
public:
    struct Point {
        double at;
        double value;
        double slope;  // from the point before
    };

    void add(double at, double value) {
        if (!points_.empty() && points_.back().at == at) {
            if (points_.back().value >= value) return;
            points_.pop_back();
        }
        double slope = 0.0;
        while (!points_.empty()) {
            // Slopes may be infinite between the tiniest doubles; both points are then as good.
            slope = (value - points_.back().value) / (at - points_.back().at);
            if (points_.size() == 1 || points_.back().slope > slope) break;
            points_.pop_back();
        }
        points_.push_back({at, value, slope});
    }
    // The points around a place, the same one twice if it is a vertex.
    std::pair<Point, Point> around(double place) const {
        std::size_t i = 0;
        while (i + 1 < points_.size() && points_[i + 1].at <= place) ++i;
        const std::size_t next = points_[i].at == place ? i : std::min(i + 1, points_.size() - 1);
        return {points_[i], points_[next]};
    }

private:
    std::vector<Point> points_;
};

// The costliest tasks: a single threshold, and the two that attain the hull at one half.
struct WorstThresholds {
    double single = 0.0;
    double single_loss = 0.0;
    double first = 0.0;
    double first_loss = 0.0;
    double second = 1.0;
    double second_loss = 0.0;
};

inline WorstThresholds worst_thresholds(const Law& law, const Pools& pools) {
    WorstThresholds worst;
    ConcaveHull hull;
    hull.add(0.0, 0.0);
    sweep_thresholds(
        law, pools, SortedPools(pools),
        [&](double threshold, double left, double right) {
            const double loss = std::max(left, right);
            hull.add(threshold, loss);
            if (loss > worst.single_loss) {
                worst.single = threshold;
                worst.single_loss = loss;
            }
        },
        [](double, double) {});
    hull.add(1.0, 0.0);
    const auto [first, second] = hull.around(0.5);
    worst.first = first.at;
    worst.first_loss = first.value;
    worst.second = second.at;
    worst.second_loss = second.value;
    return worst;
}

// The whole curve: thresholds from 0 to 1 with the losses from their left and right.
struct LossCurve {
    Buffer<double> threshold;
    Buffer<double> left;
    Buffer<double> right;
    std::size_t count = 0;

    void add(double at, double from_left, double from_right) {
        threshold[count] = at;
        left[count] = from_left;
        right[count] = from_right;
        ++count;
    }
};

inline LossCurve loss_curve(const Law& law, const Pools& pools) {
    const SortedPools sorted(pools);
    const std::size_t most = law.count + sorted.count() + 2;
    LossCurve curve{allocate<double>(most), allocate<double>(most), allocate<double>(most)};
    if (law.prediction[0] > 0.0) curve.add(0.0, 0.0, 0.0);
    sweep_thresholds(
        law, pools, sorted,
        [&](double at, double left, double right) { curve.add(at, left, right); },
        [&](double at, double loss) { curve.add(at, loss, loss); });
    if (law.prediction[law.count - 1] < 1.0) curve.add(1.0, 0.0, 0.0);
    return curve;
}

// Losses at a few increasing thresholds, from the left and from the right.
inline void losses_at(const Law& law, const Pools& pools, const double* threshold,
                      std::size_t count, double* left, double* right) {
    const double* const end = threshold + count;
    std::vector<Excess> passed(count + 1);  // the pools between two thresholds
    for (std::size_t i = 0; i < pools.count; ++i)
        passed[static_cast<std::size_t>(std::upper_bound(threshold, end, pools.mean(i)) -
                                        threshold)]
            .add_pool(pools, i);
    Excess below;
    std::size_t level = 0;
    for (std::size_t k = 0; k < count; ++k) {
        below.add(passed[k]);
        while (level < law.count && law.prediction[level] < threshold[k])
            below.remove_level(law, level++);
        left[k] = right[k] = below.loss(threshold[k]);
        if (level == law.count || law.prediction[level] != threshold[k]) continue;
        Excess beyond = below;
        beyond.remove_level(law, level);
        right[k] = beyond.loss(threshold[k]);
    }
}

}  // namespace calibrant
