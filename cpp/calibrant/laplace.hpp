// The quadratic form c' K c of the Laplace kernel exp(-|u - v| / bandwidth), in one pass.
//
// With sorted levels, decay r_i = exp(-(v_{i+1} - v_i) / bandwidth) and tails b_m = c_m,
// b_i = c_i + r_i b_{i+1} (the residuals above, discounted), the form is
//     b_1^2 + sum over i >= 2 of (1 - r_{i-1}^2) b_i^2,
// a sum of squares: nothing cancels, and the value cannot come out negative.
#pragma once

#include <cmath>
#include <cstddef>

#include "law.hpp"

namespace calibrant {

// 1 - exp(-x) for x >= 0: small gaps are the rule, and the series is three times faster.
inline double decay(double x) {
    if (x > 1e-3) return -std::expm1(-x);
    return x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0 - x / 120.0))));
}

inline double laplace_form(const Law& law, double bandwidth) {
    Sum form;
    double tail = law.residual(law.count - 1);
    for (std::size_t i = law.count - 1; i > 0; --i) {
        const double lost = decay((law.prediction[i] - law.prediction[i - 1]) / bandwidth);
        form.add(lost * (2.0 - lost) * tail * tail);
        tail = law.residual(i - 1) + (tail - lost * tail);
    }
    form.add(tail * tail);
    return form.value();
}

// Sums of residuals discounted by their distance: from the levels at and below each level, and
// from those at and above. Between two levels the sum of K(., v_j) c_j decays from both.
inline void laplace_sides(const Law& law, double bandwidth, double* below, double* above) {
    const std::size_t m = law.count;
    const auto kept = [&](std::size_t i) {
        return 1.0 - decay((law.prediction[i + 1] - law.prediction[i]) / bandwidth);
    };
    for (std::size_t i = 0; i < m; ++i)
        below[i] = law.residual(i) + (i > 0 ? kept(i - 1) * below[i - 1] : 0.0);
    for (std::size_t i = m; i-- > 0;)
        above[i] = law.residual(i) + (i + 1 < m ? kept(i) * above[i + 1] : 0.0);
}

}  // namespace calibrant
