// Isotonic regression: neighbours whose means do not increase are pooled, in O(m) for m levels.
//
// A library has it for one curve. Noise floors need it for a thousand draws of outcomes on the same
// levels, where only a sum over the pools is asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrant {

class IsotonicFit {
public:
    struct Pool {
        double weight;
        double sum;  // weight times value, summed
        double mean;
        std::uint32_t first;
    };

    // Pools of levels with positive weights; `sum(i)` is the weight of level i times its value.
    template <class LevelSum>
    const std::vector<Pool>& pools(const double* weight, std::size_t count, LevelSum sum) {
        pools_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            Pool pool{weight[i], sum(i), 0.0, static_cast<std::uint32_t>(i)};
            pool.mean = pool.sum / pool.weight;
            while (!pools_.empty() && pools_.back().mean >= pool.mean) {
                pool.weight += pools_.back().weight;
                pool.sum += pools_.back().sum;
                pool.mean = pool.sum / pool.weight;
                pool.first = pools_.back().first;
                pools_.pop_back();
            }
            pools_.push_back(pool);
        }
        return pools_;
    }

private:
    std::vector<Pool> pools_;
};

// What a pool's mean, taken as a chance, gains over knowing nothing, in units of its weight.
struct LogGain {
    double operator()(double mean) const {
        const double chance = std::clamp(mean, 0.0, 1.0);
        return times_log(chance) + times_log(1.0 - chance);
    }

private:
    static double times_log(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }
};

struct SquareGain {
    double operator()(double mean) const { return mean * mean; }
};

// Sum over pools of weight times gain.
template <class Gain>
double isotonic_gain(const std::vector<IsotonicFit::Pool>& pools, Gain gain) {
    double total = 0.0;
    for (const IsotonicFit::Pool& pool : pools) total += pool.weight * gain(pool.mean);
    return total;
}

}  // namespace calibrant
