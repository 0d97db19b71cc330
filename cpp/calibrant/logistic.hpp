// Slope and curvature of the log loss of a logistic regression, in one pass and without copies.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace calibrant {

struct LogisticMoments {
    static constexpr std::size_t most_terms = 3;
    using Vector = std::array<double, most_terms>;
    using Terms = std::array<const double*, most_terms>;
    Vector slope{};
    std::array<Vector, most_terms> curvature{};
};

// Log-odds are `score`; a term that is null is the constant one. `ones` is the part of the weight
// with outcome 1. Sums of blocks are added up, so that rounding does not grow with the rows.
inline LogisticMoments logistic_moments(const double* weight, const double* ones,
                                        const double* score, std::size_t count,
                                        const LogisticMoments::Terms& term, std::size_t terms) {
    constexpr std::size_t block = 256;
    LogisticMoments total;
    std::array<double, block> excess;
    std::array<double, block> spread;
    for (std::size_t start = 0; start < count; start += block) {
        const std::size_t size = std::min(block, count - start);
        for (std::size_t i = 0; i < size; ++i) {
            // The rarer outcome has the better digits.
            const double odds = std::exp(-std::fabs(score[start + i]));
            const double rarer = odds / (1.0 + odds);
            const double w = weight[start + i];
            excess[i] = w * (score[start + i] < 0.0 ? rarer : 1.0 - rarer) - ones[start + i];
            spread[i] = w * rarer * (1.0 - rarer);
        }
        for (std::size_t k = 0; k < terms; ++k) {
            const auto at = [&](std::size_t which, std::size_t i) {
                return term[which] == nullptr ? 1.0 : term[which][start + i];
            };
            double slope = 0.0;
            for (std::size_t i = 0; i < size; ++i) slope += at(k, i) * excess[i];
            total.slope[k] += slope;
            for (std::size_t l = 0; l <= k; ++l) {
                double curvature = 0.0;
                for (std::size_t i = 0; i < size; ++i) curvature += at(k, i) * at(l, i) * spread[i];
                total.curvature[k][l] += curvature;
            }
        }
    }
    for (std::size_t k = 0; k < terms; ++k)
        for (std::size_t l = k + 1; l < terms; ++l) total.curvature[k][l] = total.curvature[l][k];
    return total;
}

}  // namespace calibrant
