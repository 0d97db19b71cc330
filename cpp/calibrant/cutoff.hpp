// Range of the cumulative residuals: the largest |sum of residuals| over any interval of
// predictions is max S - min S, over lower sets max |S|, over upper sets max |S_end - S|.
#pragma once

#include <cstddef>

#include "law.hpp"

namespace calibrant {

// Prefix lengths (how many levels stand before the cut) and the sums there.
struct CumulativeRange {
    std::size_t lowest_at = 0;
    std::size_t highest_at = 0;
    double lowest = 0.0;
    double highest = 0.0;
    double total = 0.0;
};

inline CumulativeRange cumulative_range(const Law& law) {
    CumulativeRange range;
    Sum sum;
    for (std::size_t i = 0; i < law.count; ++i) {
        sum.add(law.residual(i));
        const double value = sum.value();
        if (value < range.lowest) {
            range.lowest = value;
            range.lowest_at = i + 1;
        }
        if (value > range.highest) {
            range.highest = value;
            range.highest_at = i + 1;
        }
    }
    range.total = sum.value();
    return range;
}

}  // namespace calibrant
