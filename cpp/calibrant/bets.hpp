// Bets against calibration, row after row: the wealth of a bettor who may choose a stake after
// seeing a prediction and before seeing its outcome.
//
// A bet of size s puts a stake u with |u| <= s on a row with prediction v and outcome y and
// multiplies the wealth by 1 + u (y - v) - s a, where a is the allowance of the row. If the chance
// of the outcome differs from v by no more than a on average, the expected factor is at most one,
// whatever the stake. Each strategy (how stakes follow from the past) plays every size.
//
// A new bettor starts before row t with the share 1 / (t (t + 1)) of one unit, so that a change
// after a long calm is found too; the shares sum to one. The same factors drive the detector of
// Shin, Ramdas and Rinaldo (2023), in which a bettor with a whole unit starts before every row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace calibrant {

inline constexpr std::size_t betting_cells = 64;
inline constexpr std::size_t betting_bins = 16;  // of neighbouring cells
inline constexpr std::size_t betting_sizes = 8;  // 1, 1/2, ..., 1/128
inline constexpr std::size_t memories = 2;       // everything, and the recent past
// Up, down; bins with either memory; and two learned from the cells now and then by the caller.
inline constexpr std::size_t learned_strategies = 2;
inline constexpr std::size_t strategies = 2 + memories + learned_strategies;

// Everything a bettor remembers.
struct Book {
    double wealth[strategies][betting_sizes];
    double detector[strategies][betting_sizes];
    double cell_rows[betting_cells];
    double cell_predictions[betting_cells];  // sum of predictions
    double cell_positives[betting_cells];
    double bin_residual[memories][betting_bins];     // sum of y - v
    double bin_information[memories][betting_bins];  // sum of v (1 - v)
    double stakes[learned_strategies][betting_cells];
};

// Rows in order; levels at which the evidence is an alarm and the detector sees a change.
struct Stream {
    const double* prediction;
    const std::uint8_t* outcome;
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
    // `edges` are the inner edges of the cells, ascending.
    Bettor(Book& book, const double* edges) : book_(book), edges_(edges) {}

    BettingResult play(const Stream& stream) {
        BettingResult result;
        for (std::size_t i = 0; i < stream.count; ++i) {
            const double v = stream.prediction[i];
            const double y = stream.outcome[i] != 0 ? 1.0 : 0.0;
            const double row = stream.rows_before + static_cast<double>(i) + 1.0;
            const std::size_t cell = cell_of(v);
            const Totals totals = settle(v, y, stream.allowance[i], cell, row);
            learn(v, y, cell);
            const double evidence = totals.wealth + 1.0 / (row + 1.0);  // the rest not yet started
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
        double wealth = 0.0;
        double detector = 0.0;
    };

    // No row takes more than this part of the wealth, so that no bettor is ever ruined.
    static constexpr double most_lost = 15.0 / 16.0;
    // Wealth beyond this is not counted; it is far beyond any alarm.
    static constexpr double ceiling = 1e300;
    // Information beyond which the recent past fades: that of 256 fair coins.
    static constexpr double recent = 64.0;
    // Information at which a stake is half of what the residuals of a bin say.
    static constexpr double doubt = 1.0;

    std::size_t cell_of(double prediction) const {
        const double* end = edges_ + betting_cells - 1;
        return static_cast<std::size_t>(std::upper_bound(edges_, end, prediction) - edges_);
    }

    static double factor(double stake, double size, double v, double y, double charge) {
        const double room = std::max(0.0, most_lost - charge);
        double bet = std::clamp(stake, -size, size);
        const double loss = bet > 0.0 ? bet * v : -bet * (1.0 - v);
        if (loss > room) bet *= room / loss;
        return 1.0 + bet * (y - v) - charge;
    }

    Totals settle(double v, double y, double allowance, std::size_t cell, double row) {
        const std::size_t bin = cell * betting_bins / betting_cells;
        double stakes[strategies] = {1.0, -1.0};
        for (std::size_t m = 0; m < memories; ++m)
            stakes[2 + m] = book_.bin_residual[m][bin] / (book_.bin_information[m][bin] + doubt);
        for (std::size_t k = 0; k < learned_strategies; ++k)
            stakes[2 + memories + k] = book_.stakes[k][cell];
        // Shift, bins and the two learned ones count the same: a quarter each.
        constexpr double shares[strategies] = {0.125, 0.125, 0.125, 0.125, 0.25, 0.25};
        const double start = 1.0 / (row * (row + 1.0));
        Totals totals;
        for (std::size_t s = 0; s < strategies; ++s) {
            double size = 1.0;
            Totals sums;
            for (std::size_t j = 0; j < betting_sizes; ++j, size *= 0.5) {
                const double f = factor(stakes[s], size, v, y, size * allowance);
                double& wealth = book_.wealth[s][j];
                double& detector = book_.detector[s][j];
                wealth = std::min(ceiling, f * (wealth + start));
                detector = std::min(ceiling, f * (detector + 1.0));
                sums.wealth += wealth;
                sums.detector += detector;
            }
            totals.wealth += shares[s] * sums.wealth;
            totals.detector += shares[s] * sums.detector;
        }
        totals.wealth /= static_cast<double>(betting_sizes);
        totals.detector /= static_cast<double>(betting_sizes);
        return totals;
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
    const double* edges_;
};

}  // namespace calibrant
