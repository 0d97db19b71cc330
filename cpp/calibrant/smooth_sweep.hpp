// Smooth calibration error, exactly, in O(m log m) for m levels: one sweep over them and back.
//
// The error is max sum c_i w_i over |w_i| <= 1, |w_{i+1} - w_i| <= d_i, with residuals c_i and
// d_i = Lipschitz constant times the gap between levels i and i+1. With prefix sums S_i its
// linear-programming dual is a minimum-cost flow on a path (Hu, Jambulapati, Tian, Yang 2024):
//
//     min over G_1 .. G_{m-1}, G_0 = 0, G_m = S_m, of  sum |G_i - G_{i-1}| + sum d_i |S_i - G_i|.
//
// Their dynamic programme keeps a segment tree. This one keeps the kinks of the convex value
// function, whose slopes lie in [-1, 1], as a multiset of positions with total weight 2: adding
// d_i |. - S_i| inserts weight 2 d_i at S_i, and |G_{i+1} - G_i| clips the slopes again, which
// removes weight d_i from either end. Positions are prefix sums, so they are ranked once and the
// multiset is a set of ranks. Going back, G_{i-1} is the median of G_i and the two ends at i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "law.hpp"
#include "rank_set.hpp"
#include "sort.hpp"

namespace calibrant {

// A sweep over the levels of a law, from the left or, with step -1, from the right.
template <std::ptrdiff_t step>
class SmoothSweep {
public:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    // The value for a law; the workspace is kept for the next call.
    double solve(const Law& law, double lipschitz) {
        sweep(law, lipschitz);
        return settle(end_);
    }

    // After `solve`, and while its law lives: an optimal w, by complementary slackness. Where
    // flow goes to the ground w is its sign, along an edge that carries flow w moves by the full
    // d_i, and elsewhere it may be anything the box allows: one pass of intervals, one back.
    void witness(double* w) const {
        const std::size_t m = law_.count;
        std::vector<double> low(m);
        std::vector<double> high(m);
        for (std::size_t i = 0; i < m; ++i) {
            const double ground = sign(flow_potential(i + 1) - flow_potential(i));
            double from = -1.0;
            double to = 1.0;
            if (i > 0) {
                const double d = distance(i - 1);
                const double carried = carried_sign(i);
                from = std::max(from, carried != 0.0 ? low[i - 1] + d * carried : low[i - 1] - d);
                to = std::min(to, carried != 0.0 ? high[i - 1] + d * carried : high[i - 1] + d);
            }
            if (ground != 0.0) from = to = ground;
            low[i] = std::min(from, to);
            high[i] = std::max(from, to);
        }
        w[m - 1] = std::clamp(0.0, low[m - 1], high[m - 1]);
        for (std::size_t i = m - 1; i-- > 0;) {
            const double d = distance(i);
            const double carried = carried_sign(i + 1);
            const double nearest =
                carried != 0.0 ? w[i + 1] - d * carried : std::clamp(w[i + 1], low[i], high[i]);
            w[i] = std::clamp(std::clamp(nearest, w[i + 1] - d, w[i + 1] + d), -1.0, 1.0);
        }
    }

    // From the first level to the last: the kinks of the value function after it. The arrays of the
    // law begin with the level that is met first.
    void sweep(const Law& law, double lipschitz) {
        prepare(law, lipschitz);
        rank_prefix_sums();
        sweep_forward();
    }

    // The same, ready to meet another: weights are added up, block by block.
    void sweep_to_meet(const Law& law, double lipschitz) {
        sweep(law, lipschitz);
        weights_.assign(1, 0.0);
        for (std::size_t rank = 0; rank < law_.count; rank += block)
            weights_.push_back(weights_.back() + added(rank, std::min(rank + block, law_.count)));
    }

    // From the last level to the first, where G begins with a flow; returns the least cost.
    double settle(double flow) {
        each_prefix_sum([&](std::size_t i, double s) { real_[i] = s; });
        return sweep_backward(flow);
    }

    // The last of the kinks for which something holds, if it holds for the first ones; or `none`.
    template <class Holds>
    std::size_t last_kink(Holds holds) const {
        if (!holds(lowest_)) return none;
        if (lowest_ == highest_ || holds(highest_)) return highest_;
        std::size_t low = lowest_;
        std::size_t high = highest_;
        for (;;) {
            std::size_t middle = kinks_.last_before(low + (high - low) / 2 + 1);
            if (middle == low) middle = kinks_.next_after(low);
            if (middle == high) return low;
            (holds(middle) ? low : high) = middle;
        }
    }

    double weight_to(std::size_t kink) const {
        if (kink == none) return 0.0;
        return weights_[kink / block] + added(kink / block * block, kink + 1);
    }

    // The prefix sum of a rank, found again from the last one that was kept.
    double sum_at(std::size_t rank) const {
        const std::size_t index = order_[rank];
        Sum sum = kept_[index / block];
        for (std::size_t i = index / block * block; i < index; ++i) sum.add(law_.residual(place(i)));
        return sum.value();
    }

    std::size_t lowest_kink() const { return lowest_; }
    std::size_t highest_kink() const { return highest_; }
    std::size_t next_kink(std::size_t kink) const { return kinks_.next_after(kink); }
    double end() const { return end_; }

private:
    static double sign(double x) { return static_cast<double>((x > 0.0) - (x < 0.0)); }

    // Beyond 2 the constraint between |w| <= 1 and |w'| <= 1 is void.
    double distance(std::size_t i) const {
        const double gap = law_.prediction[place(i + 1)] - law_.prediction[place(i)];
        return std::min(2.0, lipschitz_ * (step * gap));
    }
    static std::ptrdiff_t place(std::size_t i) { return static_cast<std::ptrdiff_t>(i) * step; }

    double added(std::size_t start, std::size_t end) const {
        return std::accumulate(real_.get() + start, real_.get() + end, 0.0);
    }

    void prepare(const Law& law, double lipschitz) {
        law_ = law;
        lipschitz_ = lipschitz;
        if (law.count <= capacity_) return;
        capacity_ = law.count;
        real_.reset();
        real_ = allocate<double>(capacity_);
        order_ = allocate<std::uint32_t>(capacity_);
        rank_ = allocate<std::uint32_t>(capacity_);
        ceiling_ = allocate<std::uint32_t>(capacity_);
    }

    // Visits S_0 = 0, S_1, ..., S_{m-1}. Sums of few levels are kept; those of many are found
    // again, which takes less than to fetch them from memory.
    template <class Visit>
    void each_prefix_sum(Visit visit) const {
        if (sums_.empty()) {
            add_up([&](std::size_t i, const Sum& sum) { visit(i, sum.value()); });
            return;
        }
        for (std::size_t i = 0; i < law_.count; ++i) visit(i, sums_[i]);
    }

    template <class Visit>
    double add_up(Visit visit) const {
        Sum sum;
        for (std::size_t i = 0; i < law_.count; ++i) {
            visit(i, sum);
            sum.add(law_.residual(place(i)));
        }
        return sum.value();
    }

    // rank_[i] = rank of S_i among S_0 .. S_{m-1}; order_ is its inverse. The sums are a slow
    // walk, so scattering them by value touches neighbouring memory.
    void rank_prefix_sums() {
        const std::size_t m = law_.count;
        double lowest = 0.0;
        double highest = 0.0;
        sums_.resize(m <= few_sums ? m : 0);
        kept_.clear();
        end_ = add_up([&](std::size_t i, const Sum& sum) {
            const double s = sum.value();
            if (i % block == 0) kept_.push_back(sum);
            if (!sums_.empty()) sums_[i] = s;
            lowest = std::min(lowest, s);
            highest = std::max(highest, s);
        });
        const std::size_t buckets = (sums_.empty() ? m / 4 : m) + 1;
        const double scale = highest > lowest
                                 ? static_cast<double>(buckets) / (highest - lowest)
                                 : 0.0;
        const auto bucket = [=](double s) {
            const double place = (s - lowest) * scale;  // may overflow for denormal ranges
            return place < static_cast<double>(buckets) ? static_cast<std::size_t>(place)
                                                        : buckets - 1;
        };
        starts_.assign(buckets + 1, 0);
        each_prefix_sum([&](std::size_t, double s) { ++starts_[bucket(s) + 1]; });
        for (std::size_t b = 0; b < buckets; ++b) starts_[b + 1] += starts_[b];
        each_prefix_sum([&](std::size_t i, double s) {
            const std::uint32_t slot = starts_[bucket(s)]++;
            real_[slot] = s;
            order_[slot] = static_cast<std::uint32_t>(i);
        });
        std::uint32_t start = 0;
        for (std::size_t b = 0; b < buckets; ++b) {
            sort_bucket(start, starts_[b]);
            start = starts_[b];
        }
        for (std::size_t r = 0; r < m; ++r) rank_[order_[r]] = static_cast<std::uint32_t>(r);
    }

    void sort_bucket(std::size_t start, std::size_t end) {
        if (end - start <= few_items) {
            for (std::size_t i = start + 1; i < end; ++i) {
                const double s = real_[i];
                const std::uint32_t index = order_[i];
                std::size_t j = i;
                for (; j > start && s < real_[j - 1]; --j) {
                    real_[j] = real_[j - 1];
                    order_[j] = order_[j - 1];
                }
                real_[j] = s;
                order_[j] = index;
            }
            return;
        }
        // Crowded buckets come from rare events (long runs of tiny steps of one sign).
        if (std::is_sorted(real_.get() + start, real_.get() + end)) return;
        if (std::is_sorted(real_.get() + start, real_.get() + end, std::greater<>())) {
            std::reverse(real_.get() + start, real_.get() + end);
            std::reverse(order_.get() + start, order_.get() + end);
            return;
        }
        crowd_.clear();
        for (std::size_t i = start; i < end; ++i) crowd_.emplace_back(real_[i], order_[i]);
        std::sort(crowd_.begin(), crowd_.end());
        for (std::size_t i = start; i < end; ++i) {
            real_[i] = crowd_[i - start].first;
            order_[i] = crowd_[i - start].second;
        }
    }

    // Before step i the kinks are those of the value function after the clip; the smallest and
    // the largest are what G_{i} is clipped to on the way back. They overwrite rank_ (floor).
    void sweep_forward() {
        const std::size_t m = law_.count;
        double* remaining = real_.get();  // weight left at each rank
        kinks_.reset(m);
        std::size_t lowest = rank_[0];
        std::size_t highest = lowest;
        kinks_.insert(lowest);
        remaining[lowest] = 2.0;
        ceiling_[0] = rank_[0];
        for (std::size_t i = 1; i < m; ++i) {
            const double d = distance(i - 1);
            const std::size_t rank = rank_[i];
            kinks_.insert(rank);
            remaining[rank] = 2.0 * d;
            lowest = std::min(lowest, rank);
            highest = std::max(highest, rank);
            double surplus = d;
            while (remaining[lowest] <= surplus && lowest != highest) {
                surplus -= remaining[lowest];
                remaining[lowest] = 0.0;
                kinks_.erase(lowest);
                lowest = kinks_.next_after(lowest);
            }
            remaining[lowest] -= surplus;
            surplus = d;
            while (remaining[highest] <= surplus && lowest != highest) {
                surplus -= remaining[highest];
                remaining[highest] = 0.0;
                kinks_.erase(highest);
                highest = kinks_.last_before(highest);
            }
            remaining[highest] -= surplus;
            rank_[i] = static_cast<std::uint32_t>(lowest);
            ceiling_[i] = static_cast<std::uint32_t>(highest);
        }
        lowest_ = lowest;
        highest_ = highest;
    }

    // G_i = median(G_{i+1}, ends), down to 0. It is a prefix sum, kept as its index, or still what
    // G was at the start. Returns the objective at this G: no error is accumulated in the programme
    // itself.
    double sweep_backward(double flow) {
        Sum cost;
        std::uint32_t index = not_clipped;
        start_ = flow;
        for (std::size_t i = law_.count; i-- > 0;) {
            const double before = flow;
            const std::uint32_t floor = order_[rank_[i]];
            const std::uint32_t ceiling = order_[ceiling_[i]];
            if (flow < real_[floor]) index = floor;
            else if (flow > real_[ceiling]) index = ceiling;
            flow = index == not_clipped ? start_ : real_[index];
            ceiling_[i] = index;
            if (flow != before) cost.add(std::fabs(flow - before));
            if (i > 0) cost.add(distance(i - 1) * std::fabs(real_[i] - flow));
        }
        return cost.value();
    }

    // G_i for i = 0 .. m
    double flow_potential(std::size_t i) const {
        if (i == law_.count) return start_;
        return ceiling_[i] == not_clipped ? start_ : real_[ceiling_[i]];
    }

    // Direction in which w must move from level i-1 to level i (0: free).
    double carried_sign(std::size_t i) const { return sign(flow_potential(i) - real_[i]); }

    static constexpr std::uint32_t not_clipped = 0xFFFFFFFFU;
    static constexpr std::size_t few_sums = std::size_t{1} << 16;
    static constexpr std::size_t block = 256;

    Law law_{};
    double lipschitz_ = 1.0;
    double end_ = 0.0;    // sum of all residuals
    double start_ = 0.0;  // where G begins on the way back
    std::size_t lowest_ = 0;
    std::size_t highest_ = 0;
    std::size_t capacity_ = 0;
    Buffer<double> real_;            // sorted sums, then weights by rank, then sums by index
    Buffer<std::uint32_t> order_;    // index by rank
    Buffer<std::uint32_t> rank_;     // rank by index, then floor by index
    Buffer<std::uint32_t> ceiling_;  // ceiling by index, then the index whose sum G takes
    std::vector<double> sums_;       // sums by index, if they are few
    std::vector<Sum> kept_;          // sums at the first index of each block
    std::vector<double> weights_;    // weights before each block of ranks, to meet another side
    std::vector<std::uint32_t> starts_;
    std::vector<std::pair<double, std::uint32_t>> crowd_;
    RankSet kinks_;
};

using SmoothSolver = SmoothSweep<1>;

}  // namespace calibrant
