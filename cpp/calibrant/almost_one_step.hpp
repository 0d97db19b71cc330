// The forecaster "almost one step ahead" (Arunachaleswaran, Collina, Roth, Shi 2025) on a recorded
// sequence of outcomes. Tallies are sums of (shadow - outcome) per grid point in units of one grid
// step: whole numbers, so the state equals that of the round-by-round version bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrant {

struct AlmostOneStep {
    std::vector<std::int64_t> tallies;  // one per grid point, the first and the last always 0
    std::size_t at;                     // the first point with tally <= 0 <= next tally

    // Predictions of the next rounds: the grid point, or the middle to the next one.
    void play(const std::uint8_t* outcome, std::size_t rounds, bool midpoint, double* prediction) {
        const std::size_t grid = tallies.size() - 1;
        const auto steps = static_cast<double>(midpoint ? 2 * grid : grid);
        for (std::size_t round = 0; round < rounds; ++round) {
            const std::size_t place = midpoint ? 2 * at + 1 : at;
            prediction[round] = static_cast<double>(place) / steps;
            if (outcome[round] != 0)
                tallies[at + 1] -= static_cast<std::int64_t>(grid - at - 1);
            else
                tallies[at] += static_cast<std::int64_t>(at);
            if (at > 0) --at;  // only the tallies at both ends of the old place have changed
            while (at + 1 < grid && (tallies[at] > 0 || tallies[at + 1] < 0)) ++at;
        }
    }
};

}  // namespace calibrant
