// A law of (prediction, outcome): increasing predictions, their weight, and the part of that
// weight with outcome 1. Kernels work in units of weight; callers divide by the total.
#pragma once

#include <cmath>
#include <cstddef>

#include "sum.hpp"

namespace calibrant {

struct Law {
    const double* prediction;
    const double* weight;
    const double* positives;
    std::size_t count;

    // Weight times (mean outcome - prediction), with one rounding.
    double residual(std::ptrdiff_t i) const {
        return std::fma(-weight[i], prediction[i], positives[i]);
    }
};

}  // namespace calibrant
