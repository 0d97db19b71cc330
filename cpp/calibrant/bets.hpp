// Bets against calibration, row after row: the wealth of bettors who may choose a stake after
// seeing a prediction and before seeing its outcome.
//
// A bet of size s puts a stake u with |u| <= s on a row with prediction v and outcome y and
// multiplies the wealth by 1 + u (y - v) - s a, where a is the allowance of the row. If the chance
// of the outcome differs from v by no more than a on average, the expected factor is at most one,
// whatever the stake. The factor is linear in y and positive at 0 and 1, so the same holds for
// outcomes anywhere between them whose mean, given the past, is the forecast. Some bettors learn stakes from the past, in several sizes; the others bet on
// one alternative for ever, whose stakes the caller gives by cell.
//
// New bettors start before every row with a share of one unit, so that a change after a long calm
// is found too: the rows 2^j, ..., 2^(j+1) - 1 have 1 / ((j + 1) (j + 2)) together, in equal parts.
// The shares sum to one, and a change after t rows costs little more than the logarithm of t. The
// same factors drive the detector of Shin, Ramdas and Rinaldo (2023), in which bettors with a
// whole unit start before every row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace calibrant {

inline constexpr std::size_t betting_cells = 64;
inline constexpr std::size_t betting_bins = 16;  // of neighbouring cells
inline constexpr std::size_t betting_sizes = 8;  // of bettors who learn
inline constexpr std::size_t memories = 2;       // everything, and the recent past
// Bins with either memory, and two learned from the cells now and then by the caller.
inline constexpr std::size_t learned_strategies = 2;
inline constexpr std::size_t strategies = memories + learned_strategies;
inline constexpr std::size_t alternatives = 56;  // with stakes that never change
inline constexpr std::size_t bettors = strategies * betting_sizes + alternatives;

// Everything the bettors remember.
struct Book {
    double wealth[bettors];
    double detector[bettors];
    double cell_rows[betting_cells];
    double cell_predictions[betting_cells];  // sum of predictions
    double cell_positives[betting_cells];
    double bin_residual[memories][betting_bins];     // sum of y - v
    double bin_information[memories][betting_bins];  // sum of v (1 - v)
    double stakes[learned_strategies][betting_cells];
};

// What never changes: those who learn come first, by strategy and size, then the alternatives.
struct Rules {
    const double* edges;   // inner edges of the cells, ascending
    const double* sizes;   // of every bettor
    const double* shares;  // of every bettor in the evidence; they sum to one
    const double* stakes;  // of the alternatives, cell by cell, within their sizes
};

// Rows in order; levels at which the evidence is an alarm and the detector sees a change.
template <class Outcome>
struct Stream {
    const double* prediction;
    const Outcome* outcome;  // in [0, 1]
    const double* allowance;
    std::size_t count;
    double rows_before;
    bool exact;  // calibration itself is tested: a contradicted 0 or 1 settles the matter
    double alarm_level;
    double change_level;
};

struct BettingResult {
    std::ptrdiff_t alarm = -1;   // first row at which the evidence reached its level
    std::ptrdiff_t change = -1;  // the same for the detector
    double peak = 0.0;           // largest evidence, contradictions aside
    bool contradicted = false;
};

class Bettor {
public:
    Bettor(Book& book, const Rules& rules) : book_(book), rules_(rules) {}

    template <class Outcome>
    BettingResult play(const Stream<Outcome>& stream) {
        BettingResult result;
        for (std::size_t i = 0; i < stream.count; ++i) {
            const double v = stream.prediction[i];
            const auto y = static_cast<double>(stream.outcome[i]);
            const double row = stream.rows_before + static_cast<double>(i) + 1.0;
            const std::size_t cell = cell_of(v);
            const Starts starts = starts_at(row);
            const Totals totals = settle(v, y, stream.allowance[i], cell, starts.share);
            learn(v, y, cell);
            const double evidence = totals.wealth + starts.later;
            result.peak = std::max(result.peak, evidence);
            if (stream.exact && (v == 0.0 || v == 1.0) && y != v) result.contradicted = true;
            const auto index = static_cast<std::ptrdiff_t>(i);
            const bool certain = result.contradicted;
            if (result.alarm < 0 && (certain || evidence >= stream.alarm_level))
                result.alarm = index;
            if (result.change < 0 && (certain || totals.detector >= stream.change_level))
                result.change = index;
        }
        return result;
    }

private:
    struct Totals {
        double wealth;
        double detector;
    };

    // No row takes more than this part of the wealth, so that no bettor is ever ruined.
    static constexpr double most_lost = 15.0 / 16.0;
    // Almost none, and yet a divisor.
    static constexpr double least_room = std::numeric_limits<double>::denorm_min();
    // Wealth beyond this is not counted; it is far beyond any alarm.
    static constexpr double ceiling = 1e300;
    // Information beyond which the recent past fades: that of 256 fair coins.
    static constexpr double recent = 64.0;
    // Information at which a stake is half of what the residuals of a bin say.
    static constexpr double doubt = 1.0;

    std::size_t cell_of(double prediction) const {
        const double* end = rules_.edges + betting_cells - 1;
        return static_cast<std::size_t>(std::upper_bound(rules_.edges, end, prediction) -
                                        rules_.edges);
    }

    struct Starts {
        double share;  // with which bettors start before this row
        double later;  // kept for those who start after it
    };

    static Starts starts_at(double row) {
        const auto number = static_cast<std::uint64_t>(row);
        const std::uint64_t first = std::bit_floor(number);
        const auto block = static_cast<double>(std::bit_width(number));
        const double share = 1.0 / (block * (block + 1.0) * static_cast<double>(first));
        return {share, 1.0 / block - static_cast<double>(number - first + 1) * share};
    }

    Totals settle(double v, double y, double allowance, std::size_t cell, double start) {
        const std::size_t bin = cell * betting_bins / betting_cells;
        double learned[strategies];
        for (std::size_t m = 0; m < memories; ++m)
            learned[m] = book_.bin_residual[m][bin] / (book_.bin_information[m][bin] + doubt);
        for (std::size_t k = 0; k < learned_strategies; ++k)
            learned[memories + k] = book_.stakes[k][cell];
        double stakes[bettors];
        for (std::size_t s = 0, k = 0; s < strategies; ++s)
            for (std::size_t j = 0; j < betting_sizes; ++j, ++k)
                stakes[k] = std::clamp(learned[s], -rules_.sizes[k], rules_.sizes[k]);
        std::copy_n(rules_.stakes + cell * alternatives, alternatives,
                    stakes + strategies * betting_sizes);
        // No branch, so that the compiler settles several bettors at once.
        const double residual = y - v;
        for (std::size_t k = 0; k < bettors; ++k) {
            const double charge = rules_.sizes[k] * allowance;
            const double room = std::max(least_room, most_lost - charge);
            const double loss = std::max(stakes[k] * v, stakes[k] * (v - 1.0));
            const double bet = stakes[k] * (room / std::max(room, loss));
            const double factor = 1.0 + bet * residual - charge;
            book_.wealth[k] = factor * (book_.wealth[k] + start);
            book_.detector[k] = factor * (book_.detector[k] + 1.0);
        }
        const Totals totals{total(book_.wealth), total(book_.detector)};
        if (totals.wealth > ceiling) cap(book_.wealth);
        if (totals.detector > ceiling) cap(book_.detector);
        return totals;
    }

    // A share is far above 1e-8, so that nothing within the ceiling overflows in one row.
    static void cap(double (&values)[bettors]) {
        for (double& value : values) value = std::min(ceiling, value);
    }

    // Eight sums side by side: one alone would wait for each addition to end.
    double total(const double (&values)[bettors]) const {
        constexpr std::size_t lanes = 8;
        static_assert(bettors % lanes == 0);
        double sums[lanes] = {};
        for (std::size_t k = 0; k < bettors; k += lanes)
            for (std::size_t j = 0; j < lanes; ++j) sums[j] += rules_.shares[k + j] * values[k + j];
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
               ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    void learn(double v, double y, std::size_t cell) {
        book_.cell_rows[cell] += 1.0;
        book_.cell_predictions[cell] += v;
        book_.cell_positives[cell] += y;
        const std::size_t bin = cell * betting_bins / betting_cells;
        const double information = v * (1.0 - v);
        const double kept[memories] = {1.0, 1.0 - information / recent};
        for (std::size_t m = 0; m < memories; ++m) {
            book_.bin_residual[m][bin] = kept[m] * book_.bin_residual[m][bin] + (y - v);
            book_.bin_information[m][bin] = kept[m] * book_.bin_information[m][bin] + information;
        }
    }

    Book& book_;
    Rules rules_;
};

}  // namespace calibrant
