// Averaged two-bin error: a threshold drawn uniformly from [0, 1] parts the levels into two bins.
//
// Between two neighbouring levels every threshold parts them alike, so the mean over thresholds is
// a sum over gaps: with S the residuals below and T those above, of S^2 + T^2 (or |S| + |T|) times
// the width of the gap.
#pragma once

#include <cmath>
#include <cstddef>

#include "law.hpp"

namespace calibrant {

// Calls visit(width of the gap, residuals below it) for all gaps, and returns all residuals.
template <class Visit>
double for_each_gap(const Law& law, Visit visit) {
    Sum below;
    double reached = 0.0;
    for (std::size_t i = 0; i < law.count; ++i) {
        visit(law.prediction[i] - reached, below.value());
        below.add(law.residual(i));
        reached = law.prediction[i];
    }
    visit(1.0 - reached, below.value());
    return below.value();
}

// With total W, S^2 + (W - S)^2 = W^2 - 2 W S + 2 S^2, so that one pass finds all that is needed.
// Each of the three terms is at most three times the value: little is lost where they cancel.
inline double two_bin_squares(const Law& law) {
    Sum first, second;
    const double total = for_each_gap(law, [&](double width, double below) {
        const double part = width * below;
        first.add(part);
        second.add(part * below);
    });
    return std::fma(total, total - 2.0 * first.value(), 2.0 * second.value());
}

inline double two_bin_biases(const Law& law) {
    const double total = for_each_gap(law, [](double, double) {});
    Sum error;
    for_each_gap(law, [&](double width, double below) {
        error.add(width * (std::fabs(below) + std::fabs(total - below)));
    });
    return error.value();
}

inline double two_bin_error(const Law& law, bool squared) {
    return squared ? two_bin_squares(law) : two_bin_biases(law);
}

}  // namespace calibrant
