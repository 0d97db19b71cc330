// Cheapest partition of a few point masses, each group moving to its mean outcome: exact, by
// dynamic programming over subsets.
//
// F(S), the least cost of the masses in S, is the least cost(A) + F(S - A) over the A in S that
// hold the lowest member of S. A set whose best partition has several groups need not be tried as
// one group, so only the others are passed on to the sets that contain them. At worst that takes
// (3^n - 1) / 2 steps for n masses; a number and a set of 4 bytes are kept for each of the 2^n
// subsets.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "buffer.hpp"

namespace calibrant {

inline constexpr std::size_t most_partitioned = 20;

struct PointMasses {
    const double* at;
    const double* mass;
    const double* ones;
    std::size_t count;

    // Mean distance moved if the members are one group.
    double cost(std::uint32_t members) const {
        double mass_of_all = 0.0, ones_of_all = 0.0;
        for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
            const auto k = static_cast<std::size_t>(std::countr_zero(rest));
            mass_of_all += mass[k];
            ones_of_all += ones[k];
        }
        if (mass_of_all == 0.0) return 0.0;  // too light to show in the sums
        const double mean = std::fmin(ones_of_all / mass_of_all, 1.0);
        double moved = 0.0;
        for (std::uint32_t rest = members; rest != 0; rest &= rest - 1) {
            const auto k = static_cast<std::size_t>(std::countr_zero(rest));
            moved += mass[k] * std::fabs(at[k] - mean);
        }
        return moved;
    }
};

// Number of the group of each mass. Groups that gain no more than `tie` are left apart.
inline std::vector<std::int64_t> best_partition(const PointMasses& masses, double tie) {
    std::vector<std::int64_t> group(masses.count, 0);
    if (masses.count == 0) return group;
    const std::uint32_t everybody =
        static_cast<std::uint32_t>((std::uint64_t{1} << masses.count) - 1);
    const std::size_t subsets = std::size_t{1} << masses.count;
    const Buffer<double> least = allocate<double>(subsets);
    const Buffer<std::uint32_t> first_group = allocate<std::uint32_t>(subsets);
    for (std::size_t set = 0; set < subsets; ++set)
        least[set] = std::numeric_limits<double>::infinity();
    least[0] = 0.0;
    for (std::size_t k = masses.count; k-- > 0;) {
        const std::uint32_t lowest = std::uint32_t{1} << k;
        const std::uint32_t above = everybody & ~(2 * lowest - 1);
        // Sets with this lowest member in ascending order: subsets come before what holds them.
        std::uint32_t others = 0;
        do {
            const std::uint32_t set = others | lowest;
            const double cost = masses.cost(set);
            if (cost < least[set] - tie || others == 0) {
                least[set] = cost;
                first_group[set] = set;
                const std::uint32_t left = above & ~others;
                for (std::uint32_t rest = (0 - left) & left; rest != 0;
                     rest = (rest - left) & left) {
                    const double both = cost + least[rest];
                    if (both < least[set | rest] - tie) {
                        least[set | rest] = both;
                        first_group[set | rest] = set;
                    }
                }
            }
            others = (others - above) & above;
        } while (others != 0);
    }
    std::int64_t number = 0;
    for (std::uint32_t rest = everybody; rest != 0; ++number) {
        const std::uint32_t taken = first_group[rest];
        for (std::uint32_t member = taken; member != 0; member &= member - 1)
            group[static_cast<std::size_t>(std::countr_zero(member))] = number;
        rest &= ~taken;
    }
    return group;
}

}  // namespace calibrant
