// Smooth calibration error of many levels: swept from both ends, by two threads where there are two.
//
// From the right the problem looks as it does from the left. Where the sweeps meet, the best G is a
// median of the kinks of both sides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "law.hpp"
#include "smooth_sweep.hpp"
#include "threads.hpp"

namespace calibrant {

// What must flow across the middle beyond the residuals left of it. Both sides' value functions have
// slopes in [-1, 1], and d |flow| is added: the least flow at which half of the weight of all kinks,
// 2 + 2 + 2d, is reached.
inline double best_flow(const SmoothSweep<1>& left, const SmoothSweep<-1>& right, double d) {
    constexpr std::size_t none = SmoothSolver::none;
    const auto on_left = [&](std::size_t kink) { return left.sum_at(kink) - left.end(); };
    const auto on_right = [&](std::size_t kink) { return right.end() - right.sum_at(kink); };
    const auto reached = [&](double flow) {
        const auto until = [&](std::size_t kink) { return on_left(kink) <= flow; };
        const auto beyond = [&](std::size_t kink) { return on_right(kink) > flow; };
        const double most = right.weight_to(right.highest_kink());
        const double both = left.weight_to(left.last_kink(until)) + most -
                            right.weight_to(right.last_kink(beyond));
        return both + (flow >= 0.0 ? 2.0 * d : 0.0) >= 2.0 + d;
    };
    constexpr double infinite = std::numeric_limits<double>::infinity();
    double best = reached(0.0) ? 0.0 : infinite;
    const std::size_t before =
        left.last_kink([&](std::size_t kink) { return !reached(on_left(kink)); });
    if (before != left.highest_kink())
        best = std::min(best,
                        on_left(before == none ? left.lowest_kink() : left.next_kink(before)));
    const std::size_t last =
        right.last_kink([&](std::size_t kink) { return reached(on_right(kink)); });
    if (last != none) best = std::min(best, on_right(last));
    return best < infinite ? best : 0.0;  // infinite only if the weights were lost to rounding
}

inline double smooth_error_from_both_ends(const Law& law, double lipschitz, bool two_threads) {
    const std::size_t half = law.count / 2;
    const std::size_t last = law.count - 1;
    SmoothSweep<1> left;
    SmoothSweep<-1> right;
    at_once(
        two_threads,
        [&] { left.sweep_to_meet({law.prediction, law.weight, law.positives, half}, lipschitz); },
        [&] {
            right.sweep_to_meet({law.prediction + last, law.weight + last, law.positives + last,
                                 law.count - half}, lipschitz);
        });
    const double d = std::min(2.0, lipschitz * (law.prediction[half] - law.prediction[half - 1]));
    const double flow = best_flow(left, right, d);
    double cost_left = 0.0;
    double cost_right = 0.0;
    at_once(
        two_threads, [&] { cost_left = left.settle(left.end() + flow); },
        [&] { cost_right = right.settle(right.end() - flow); });
    return cost_left + cost_right + d * std::fabs(flow);
}

// Threads do not change a bit: how levels are swept depends on their number alone.
inline double smooth_error(const Law& law, double lipschitz, bool two_threads) {
    constexpr std::size_t few_levels = std::size_t{1} << 16;
    if (law.count <= few_levels) return SmoothSolver().solve(law, lipschitz);
    return smooth_error_from_both_ends(law, lipschitz, two_threads);
}

}  // namespace calibrant
