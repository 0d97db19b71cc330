// Binomial numbers from uniform ones, by inverting the distribution function.
//
// A library draws each number by itself. Null draws need hundreds from every one of thousands of
// distributions: a table of each, found from the ratios of neighbouring chances, answers with one
// look and about one comparison.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace calibrant {

class BinomialTable {
public:
    BinomialTable(std::int64_t count, double chance)
        : count_(static_cast<double>(count)), chance_(chance) {
        if (count <= 1 || !(chance > 0.0 && chance < 1.0)) return;
        const double odds = chance / (1.0 - chance);
        const double mode = std::min(count_, std::floor((count_ + 1.0) * chance));
        // Chances relative to that of the mode; those that no sum of doubles would show are left
        // out, and dividing by their sum makes up for it.
        double share = 1.0;
        for (double k = mode; k > 0.0; --k) {
            share *= k / ((count_ - k + 1.0) * odds);
            if (share < invisible) break;
            reached_.push_back(share);
        }
        first_ = mode - static_cast<double>(reached_.size());
        std::reverse(reached_.begin(), reached_.end());
        reached_.push_back(1.0);
        share = 1.0;
        for (double k = mode; k < count_; ++k) {
            share *= (count_ - k) / (k + 1.0) * odds;
            if (share < invisible) break;
            reached_.push_back(share);
        }
        std::partial_sum(reached_.begin(), reached_.end(), reached_.begin());
        const double sum = reached_.back();
        for (double& reached : reached_) reached /= sum;
        guide();
    }

    // The smallest number whose distribution function exceeds `uniform`, which is in [0, 1).
    double operator()(double uniform) const {
        // One row, or chances that leave no choice: all or nothing.
        if (reached_.empty()) return uniform < chance_ ? count_ : 0.0;
        std::size_t place = start_[static_cast<std::size_t>(uniform * slots_)];
        while (reached_[place] <= uniform) ++place;  // the last is one
        return first_ + static_cast<double>(place);
    }

private:
    static constexpr double invisible = 0x1p-60;

    // The first number that the uniform numbers of each slot can have; rounding may end in a slot
    // more.
    void guide() {
        start_.resize(reached_.size() + 1);
        slots_ = static_cast<double>(reached_.size());
        std::uint32_t place = 0;
        for (std::size_t slot = 0; slot < start_.size(); ++slot) {
            const double start = static_cast<double>(slot) / slots_;
            while (place + 1 < reached_.size() && reached_[place] <= start) ++place;
            start_[slot] = place;
        }
    }

    double count_;
    double chance_;
    double first_ = 0.0;
    double slots_ = 1.0;
    std::vector<double> reached_;
    std::vector<std::uint32_t> start_;
};

// Turns `uniform`, one row of `draws` for each distribution, into `drawn`, one row for each draw.
inline void draw_binomials(const double* uniform, const std::int64_t* count, const double* chance,
                           std::size_t size, std::size_t draws, double* drawn) {
    constexpr std::size_t together = 8;  // doubles of a cache line
    std::vector<BinomialTable> tables;
    for (std::size_t start = 0; start < size; start += together) {
        const std::size_t end = std::min(size, start + together);
        tables.clear();
        for (std::size_t i = start; i < end; ++i) tables.emplace_back(count[i], chance[i]);
        for (std::size_t draw = 0; draw < draws; ++draw)
            for (std::size_t i = start; i < end; ++i)
                drawn[draw * size + i] = tables[i - start](uniform[i * draws + draw]);
    }
}

}  // namespace calibrant
