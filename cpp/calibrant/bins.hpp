// Sums of rows over intervals of predictions, in one pass and without a sort.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rows.hpp"

namespace calibrant {

// A finder tells the bin of a prediction in two steps: a slot, the whole part of `scale` times the
// prediction, which vectorises, and `bin`, which makes it exact. What is summed is `part` of the
// prediction; `whole` gives back the sum of predictions. Finders are views, passed by value so that
// the compiler keeps them in registers. Predictions that change under our hands find a wrong bin,
// never one that does not exist: slots end at `last_slot`, and no value is beyond the last bin.
// Converting to a signed 32-bit number is one instruction; to
// an unsigned one it is many.
using Slot = std::int32_t;
inline constexpr std::size_t max_cells = std::size_t{1} << 26;

// Upper ends of the intervals between increasing edges from 0 to 1. With `closed_left` they are
// [a, b) and the last one holds its end; otherwise (a, b] and the first one holds its start.
// Comparison with the edges is exact: 0.3 is in [0.3, 0.4) when the edge is the double 0.3.
// Nothing is at or above the end of the last one, not even infinity.
inline std::vector<double> bin_ends(const double* edges, std::size_t count, bool closed_left) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> ends(edges + 1, edges + count);
    if (!closed_left)
        for (double& end : ends) end = std::nextafter(end, infinity);
    ends.back() = std::numeric_limits<double>::quiet_NaN();
    return ends;
}

// Predictions are summed as they are.
struct Whole {
    static double part(double prediction, std::size_t) { return prediction; }
    static double whole(double sum, double, std::size_t) { return sum; }
};

// Edges j / k: the slot, taken a little too small, is the bin or the one before it.
struct UniformEdges : Whole {
    const double* ends;
    std::size_t bins;
    double scale;
    double last_slot;

    explicit UniformEdges(const std::vector<double>& bin_ends)
        : ends(bin_ends.data()),
          bins(bin_ends.size()),
          scale(static_cast<double>(bins) * (1.0 - 0x1p-50)),
          last_slot(static_cast<double>(bins - 1)) {}
    static bool fit(const double* edges, std::size_t count) {
        const std::size_t bins = count - 1;
        for (std::size_t j = 0; j < count; ++j)
            if (edges[j] != static_cast<double>(j) / static_cast<double>(bins)) return false;
        return bins <= max_cells;
    }
    std::size_t bin(Slot slot, double prediction) const {
        const auto guess = static_cast<std::uint32_t>(slot);
        return guess + static_cast<std::size_t>(prediction >= ends[guess]);
    }
};

// Any edges: a table has the bin at the start of each slot.
struct AnyEdges : Whole {
    static constexpr std::size_t slots = 4096;
    const double* ends;
    const std::uint32_t* first;
    std::size_t bins;
    double scale = slots;
    double last_slot = slots;

    AnyEdges(const std::vector<double>& bin_ends, const std::vector<std::uint32_t>& first_bins)
        : ends(bin_ends.data()), first(first_bins.data()), bins(bin_ends.size()) {}
    static std::vector<std::uint32_t> first_bins(const std::vector<double>& ends) {
        std::vector<std::uint32_t> first(slots + 1);
        std::uint32_t bin = 0;
        for (std::size_t slot = 0; slot <= slots; ++slot) {
            while (static_cast<double>(slot) / static_cast<double>(slots) >= ends[bin]) ++bin;
            first[slot] = bin;
        }
        return first;
    }
    std::size_t bin(Slot slot, double prediction) const {
        std::size_t found = first[static_cast<std::uint32_t>(slot)];
        while (prediction >= ends[found]) ++found;
        return found;
    }
};

// Cells [j/k, (j+1)/k), the last one closed, for k a power of two: the product is exact. Only the
// place inside the cell is summed, so that rounding errors shrink with the cell.
struct Cells {
    std::size_t bins;
    double scale;
    double last_slot;

    explicit Cells(std::size_t count)
        : bins(count),
          scale(static_cast<double>(count)),
          last_slot(static_cast<double>(count - 1)) {}
    static std::size_t bin(Slot slot, double) { return static_cast<std::uint32_t>(slot); }
    double part(double prediction, std::size_t bin) const {
        return prediction * scale - static_cast<double>(static_cast<Slot>(bin));
    }
    double whole(double sum, double weight, std::size_t bin) const {
        return (sum + weight * static_cast<double>(bin)) / scale;
    }
};

struct BinSums {
    std::vector<double> prediction;  // weight times prediction, summed
    std::vector<double> weight;
    std::vector<double> positives;
    std::vector<double> rows;            // empty when every row weighs one
    std::vector<double> weight_squares;  // likewise
    std::size_t bad_rows = 0;
    bool binary = true;
};

// Sixteen bytes a bin, so that 2^16 of them stay in the second-level cache, and two numbers that
// one vector instruction adds: both counts share a double, exactly for fewer than 2^26 rows.
struct alignas(16) CoinTally {
    static constexpr std::size_t most_rows = (std::size_t{1} << 26) - 1;
    static constexpr double positive = 0x1p26;
    double prediction = 0.0;
    double counts = 0.0;

    template <class Outcome>
    void add(const Rows<Outcome>& from, std::size_t i, double part) {
        static constexpr double count_of[] = {1.0, 1.0 + positive};
        prediction += part;
        counts += count_of[coin(from.outcome[i])];
    }
    double positives() const { return std::floor(counts / positive); }
    double rows() const { return counts - positives() * positive; }
};

struct WeightedTally {
    double prediction = 0.0;
    double weight = 0.0;
    double positives = 0.0;
    double weight_squares = 0.0;
    double rows = 0.0;

    template <class Outcome>
    void add(const Rows<Outcome>& from, std::size_t i, double part) {
        const double w = from.weight == nullptr ? 1.0 : from.weight[i];
        if (w == 0.0) return;
        prediction += w * part;
        weight += w;
        positives += w * static_cast<double>(from.outcome[i]);
        weight_squares += w * w;
        rows += 1.0;
    }
};

// Residuals of a cell, and the same times the place inside the cell: what linear interpolation
// between the ends of the cell needs.
template <bool weighted>
struct alignas(16) ResidualTally {
    double residual = 0.0;
    double leaning = 0.0;

    template <class Outcome>
    void add(const Rows<Outcome>& from, std::size_t i, double part) {
        double r = number(from.outcome[i]) - from.prediction[i];
        if constexpr (weighted) r *= from.weight[i];
        residual += r;
        leaning += r * part;
    }

private:
    // A table is faster than the conversion of a 64-bit integer.
    template <class Outcome>
    static double number(Outcome outcome) {
        static constexpr double numbers[] = {0.0, 1.0};
        if constexpr (std::is_integral_v<Outcome>) return numbers[coin(outcome)];
        else return outcome;
    }
};

// Asks for memory that may lie beyond the end of an array; integers, as pointers must not.
template <class T>
void prefetch([[maybe_unused]] const T* base, [[maybe_unused]] std::size_t index) {
#if defined(__GNUC__)
    const auto address = reinterpret_cast<std::uintptr_t>(base) + index * sizeof(T);
    __builtin_prefetch(reinterpret_cast<const void*>(address));
#endif
}

template <class Find>
void find_slots(const Find find, const double* prediction, std::size_t count,
                Slot* __restrict slots) {
    for (std::size_t i = 0; i < count; ++i) {
        const double place = std::max(0.0, prediction[i] * find.scale);  // 0 for NaN
        slots[i] = static_cast<Slot>(std::min(find.last_slot, place));
    }
}

// `restrict` lets the compiler keep everything else in registers between two additions.
template <std::size_t lanes, class Tally, class Find, class Outcome>
void tally_block(const Rows<Outcome> rows, const Find find, const Slot* slots, std::size_t start,
                 std::size_t end, Tally* __restrict tally) {
    const auto add = [&](std::size_t i, std::size_t lane) {
        const double prediction = rows.prediction[i];
        const std::size_t bin = find.bin(slots[i - start], prediction);
        tally[bin * lanes + lane].add(rows, i, find.part(prediction, bin));
    };
    std::size_t i = start;
    for (; i + lanes <= end; i += lanes) {
        const std::size_t in_next_block = i + (end - start);
        prefetch(rows.prediction, in_next_block);
        prefetch(rows.outcome, in_next_block);
        for (std::size_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    }
    for (; i < end; ++i) add(i, 0);
}

// Several lanes break the chain of additions into one crowded bin; emptying them after every
// few blocks keeps the rounding error of a sum independent of the number of rows.
template <class Tally, std::size_t lanes, class Find, class Outcome, class Flush>
std::size_t tally_lanes(const Rows<Outcome>& rows, Find find, Flush flush) {
    constexpr std::size_t block = std::size_t{1} << 10;
    constexpr std::size_t rows_per_flush = lanes > 1 ? std::size_t{1} << 16 : std::size_t{1} << 25;
    if constexpr (requires { Tally::most_rows; }) static_assert(rows_per_flush <= Tally::most_rows);
    std::vector<Tally> tallies(find.bins * lanes);
    std::array<Slot, block> slots;
    std::size_t bad = 0;
    for (std::size_t start = 0; start < rows.count; start += block) {
        const std::size_t end = std::min(rows.count, start + block);
        bad += count_bad(rows, start, end);
        if (bad > 0) continue;  // the sums will not be used: go on counting
        find_slots(find, rows.prediction + start, end - start, slots.data());
        tally_block<lanes>(rows, find, slots.data(), start, end, tallies.data());
        if (end < rows.count && end % rows_per_flush != 0) continue;
        for (std::size_t cell = 0; cell < tallies.size(); ++cell) flush(cell / lanes, tallies[cell]);
        std::fill(tallies.begin(), tallies.end(), Tally{});
    }
    return bad;
}

template <class Tally, class Find, class Outcome, class Flush>
std::size_t tally_rows(const Rows<Outcome>& rows, Find find, Flush flush) {
    constexpr std::size_t few_bins = 1024;
    return find.bins <= few_bins ? tally_lanes<Tally, 4>(rows, find, flush)
                                   : tally_lanes<Tally, 1>(rows, find, flush);
}

struct NodeSums {
    std::vector<double> charge;  // residuals shared out between the nodes 0, 1/k, ..., 1
    std::size_t bad_rows = 0;
    bool binary = true;
};

// Each row gives its residual to the two nodes around its prediction, the nearer the more.
template <class Outcome>
NodeSums node_sums(const Rows<Outcome>& rows, std::size_t cells) {
    if (rows.count > max_rows) throw std::length_error(too_many_rows);
    NodeSums sums;
    sums.charge.resize(cells + 1);
    sums.binary = all_whole(rows);
    const auto share_out = [&](std::size_t b, const auto& tally) {
        sums.charge[b] += tally.residual - tally.leaning;
        sums.charge[b + 1] += tally.leaning;
    };
    sums.bad_rows = rows.weight == nullptr
                        ? tally_rows<ResidualTally<false>>(rows, Cells(cells), share_out)
                        : tally_rows<ResidualTally<true>>(rows, Cells(cells), share_out);
    return sums;
}

template <class Find, class Outcome>
BinSums bin_sums(const Rows<Outcome>& rows, Find find) {
    if (rows.count > max_rows) throw std::length_error(too_many_rows);
    const std::size_t bins = find.bins;
    BinSums sums;
    for (auto* column : {&sums.prediction, &sums.weight, &sums.positives}) column->resize(bins);
    if (rows.weight != nullptr)
        for (auto* column : {&sums.rows, &sums.weight_squares}) column->resize(bins);
    sums.binary = all_whole(rows);
    if (rows.weight == nullptr && sums.binary) {
        sums.bad_rows = tally_rows<CoinTally>(rows, find, [&](std::size_t b, const CoinTally& t) {
            sums.prediction[b] += t.prediction;
            sums.weight[b] += t.rows();
            sums.positives[b] += t.positives();
        });
    } else {
        sums.bad_rows =
            tally_rows<WeightedTally>(rows, find, [&](std::size_t b, const WeightedTally& t) {
                sums.prediction[b] += t.prediction;
                sums.weight[b] += t.weight;
                sums.positives[b] += t.positives;
                if (rows.weight == nullptr) return;
                sums.rows[b] += t.rows;
                sums.weight_squares[b] += t.weight_squares;
            });
    }
    for (std::size_t b = 0; b < bins; ++b)
        sums.prediction[b] = find.whole(sums.prediction[b], sums.weight[b], b);
    return sums;
}

}  // namespace calibrant
