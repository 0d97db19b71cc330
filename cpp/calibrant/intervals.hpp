// Cheapest partition of the levels into runs of bounded span, in O(m log m) for m levels.
//
// A run i .. j-1 costs |S_j - S_i| with prefix sums S of the residuals, so the least cost of the
// first j levels is f_j = min over i of f_i + |S_j - S_i|, i from a window that slides with j. The
// two signs part the window by the rank of S: a tournament over the ranks keeps the smallest f - S
// and the smallest f + S below each of its nodes, and one climb from the leaf of j answers both.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "buffer.hpp"

namespace calibrant {

class RunTournament {
public:
    explicit RunTournament(std::size_t size)
        : leaves_(std::bit_ceil(size)), nodes_(2 * leaves_, nobody) {}

    // Smallest f_i + |sum - S_i| over the members; `rank` is the rank of `sum`.
    double nearest(std::size_t rank, double sum) const {
        std::size_t node = leaves_ + rank;
        Node best = nodes_[node];
        for (; node > 1; node /= 2) {
            const Node sibling = nodes_[node ^ 1];
            const bool on_the_right = node % 2 == 1;  // selects, not branches: it is a coin toss
            best.below = std::min(best.below, on_the_right ? sibling.below : nobody.below);
            best.above = std::min(best.above, on_the_right ? nobody.above : sibling.above);
        }
        return std::min(best.below + sum, best.above - sum);
    }
    void insert(std::size_t rank, double cost, double sum) {
        place(rank, {cost - sum, cost + sum});
    }
    void erase(std::size_t rank) { place(rank, nobody); }

private:
    struct Node {
        double below;  // smallest f - S, for sums of this rank or higher
        double above;  // smallest f + S, for sums of this rank or lower
    };
    static constexpr Node nobody{std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::infinity()};

    void place(std::size_t rank, Node best) {
        std::size_t node = leaves_ + rank;
        nodes_[node] = best;
        while (node > 1) {
            const Node sibling = nodes_[node ^ 1];
            best.below = std::min(best.below, sibling.below);
            best.above = std::min(best.above, sibling.above);
            node /= 2;
            nodes_[node] = best;
        }
    }

    std::size_t leaves_;
    std::vector<Node> nodes_;
};

// First levels of the cheapest runs. `sum` holds S_0 .. S_m and `rank` the rank of each of them.
inline std::vector<std::int64_t> cheapest_runs(const double* level, const double* sum,
                                               const std::int64_t* rank, std::size_t count,
                                               double width) {
    const auto place = [&](std::size_t i) { return static_cast<std::size_t>(rank[i]); };
    RunTournament window(count + 1);
    const Buffer<double> cost = allocate<double>(count + 1);
    cost[0] = 0.0;
    window.insert(place(0), cost[0], sum[0]);
    std::size_t first = 0;
    for (std::size_t j = 1; j <= count; ++j) {
        for (; level[j - 1] - level[first] > width; ++first) window.erase(place(first));
        cost[j] = window.nearest(place(j), sum[j]);
        window.insert(place(j), cost[j], sum[j]);
    }
    // Going back, the nearest start that explains a cost, in the same roundings: the shortest run.
    std::vector<std::int64_t> starts;
    for (std::size_t j = count; j > 0;) {
        std::size_t i = j - 1;
        while (i > 0 && (rank[i] < rank[j] ? cost[i] - sum[i] + sum[j]
                                           : cost[i] + sum[i] - sum[j]) != cost[j])
            --i;
        starts.push_back(static_cast<std::int64_t>(i));
        j = i;
    }
    std::reverse(starts.begin(), starts.end());
    return starts;
}

}  // namespace calibrant
