// Moments of the residuals: sums of residual times a polynomial of the prediction, for the
// Chebyshev polynomials on [0, 1] or the powers, by their recurrences in blocks that stay in cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "law.hpp"

namespace calibrant {

enum class Basis { chebyshev, powers };

inline void residual_moments(const Law& law, Basis basis, std::size_t count, double* moments) {
    constexpr std::size_t block = 512;
    std::array<double, block> residual;
    std::array<double, block> place;
    std::array<double, block> current;
    std::array<double, block> previous;
    std::fill_n(moments, count, 0.0);
    for (std::size_t start = 0; start < law.count; start += block) {
        const std::size_t size = std::min(block, law.count - start);
        for (std::size_t i = 0; i < size; ++i) {
            const double prediction = law.prediction[start + i];
            residual[i] = law.residual(start + i);
            place[i] = basis == Basis::powers ? prediction : 2.0 * prediction - 1.0;
            current[i] = 1.0;
            previous[i] = place[i];  // T_{-1} = T_1
        }
        for (std::size_t k = 0; k < count; ++k) {
            double moment = 0.0;
            for (std::size_t i = 0; i < size; ++i) moment += residual[i] * current[i];
            moments[k] += moment;
            if (basis == Basis::powers) {
                for (std::size_t i = 0; i < size; ++i) current[i] *= place[i];
            } else {
                for (std::size_t i = 0; i < size; ++i) {
                    const double next = 2.0 * place[i] * current[i] - previous[i];
                    previous[i] = current[i];
                    current[i] = next;
                }
            }
        }
    }
}

}  // namespace calibrant
