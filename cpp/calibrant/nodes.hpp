// Masses between even nodes, shared out to the two nodes around them.
#pragma once

#include <algorithm>
#include <cstddef>

namespace calibrant {

// Adds each mass to the nodes around its place, in steps of the nodes, the nearer the more. Places
// beyond the ends count as the ends, so that none is written outside of `charge`.
inline void share_out(const double* mass, const double* place, std::size_t count,
                      std::size_t nodes, double* charge) {
    const auto last = static_cast<double>(nodes - 1);
    for (std::size_t i = 0; i < count; ++i) {
        const double below = std::min(last, std::max(0.0, place[i]));  // 0 for NaN
        const auto node = static_cast<std::size_t>(below);
        const double upper = mass[i] * (place[i] - static_cast<double>(node));
        charge[node] += mass[i] - upper;
        charge[node + 1] += upper;
    }
}

}  // namespace calibrant
