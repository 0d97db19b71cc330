// The exact law of (prediction, outcome): rows grouped by bit-equal predictions, ascending.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "buffer.hpp"
#include "rows.hpp"
#include "sort.hpp"
#include "threads.hpp"

namespace calibrant {

// One entry per level. `rows` and `weight_squares` are null when every row weighs one:
// both equal `weight` then.
struct Levels {
    Buffer<double> prediction;
    Buffer<double> weight;
    Buffer<double> positives;  // weight times outcome, summed
    Buffer<double> rows;
    Buffer<double> weight_squares;
    std::size_t count = 0;
    std::size_t bad_rows = 0;
    bool binary = true;  // every outcome is 0 or 1

    void resize(std::size_t levels, bool weighted) {
        count = levels;
        prediction = allocate<double>(levels);
        weight = allocate<double>(levels);
        positives = allocate<double>(levels);
        if (!weighted) return;
        rows = allocate<double>(levels);
        weight_squares = allocate<double>(levels);
    }
};

// A thread takes longer to begin than so few rows to be sorted.
inline constexpr std::size_t few_rows = std::size_t{1} << 16;

// The first pass must not wait for the smallest key, so a sample chooses its digits. Bits of a
// double are logarithmic in its value: keys far below the sample would waste buckets on nothing.
template <class Outcome>
Digits digits_from_sample(const Rows<Outcome>& rows) {
    constexpr std::size_t sample_size = 1024;
    constexpr std::uint64_t two_octaves = std::uint64_t{2} << 53;
    const std::size_t step = rows.count / sample_size + 1;
    std::uint64_t low = bits_of_one << 1;
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < rows.count; i += step) {
        const std::uint64_t key = std::min(bits_of(rows.prediction[i]), bits_of_one) << 1;
        low = std::min(low, key);
        high = std::max(high, key);
    }
    const std::uint64_t smallest = low < two_octaves ? 0 : low - two_octaves;
    // A forecast of exactly zero must not stretch the digits over a thousand octaves.
    constexpr std::uint64_t floor = std::uint64_t{0x3D70000000000000U} << 1;  // 2^-40
    const std::uint64_t start = std::max(smallest, floor);
    return Digits::between(start, std::max(start, high) + 1, max_digit_bits);
}

// Scatters one item per row with weight into the buckets of its prediction, sorts every bucket,
// and returns the number of items. `item_of(bits, row)` has the key `bits << 1`, plus perhaps one.
// Rows are read once: buckets counted and filled from rows that another thread writes to in
// between would not fit.
template <class Item, class Outcome, class ItemOf>
std::size_t sorted_items(const Rows<Outcome>& rows, ItemOf item_of, bool two_threads,
                         Buffer<Item>& items, Levels& levels) {
    const Digits digits = digits_from_sample(rows);
    BucketStarts starts{};
    std::size_t bad = 0;
    std::size_t fractions = 0;
    // In this order: what is freed first lies above, and its pages serve the arrays of the answer.
    items = allocate<Item>(rows.count);
    const Buffer<Item> read = allocate<Item>(rows.count);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        const std::uint64_t bits = bits_of(rows.prediction[i]);
        bad += static_cast<std::size_t>(!good_row(rows, i));
        fractions += static_cast<std::size_t>(!whole_outcome(rows.outcome[i]));
        if (rows.weight != nullptr && rows.weight[i] == 0.0) continue;
        const Item item = item_of(bits, i);
        ++starts[digits.bucket(key_of(item)) + 1];
        read[kept++] = item;
    }
    levels.bad_rows = bad;
    levels.binary = fractions == 0;
    if (bad > 0) return 0;
    const std::size_t buckets = digits.buckets();
    counts_to_starts(starts, buckets);

    BucketStarts next = starts;
    for (std::size_t i = 0; i < kept; ++i) items[next[digits.bucket(key_of(read[i]))]++] = read[i];
    const auto sort_buckets = [&](std::size_t first, std::size_t end) {
        for (std::size_t b = first; b < end; ++b)
            radix_sort<false>(items.get() + starts[b], read.get() + starts[b],
                              starts[b + 1] - starts[b]);
    };
    const auto half = std::lower_bound(starts.begin(), starts.begin() + buckets, kept / 2);
    const auto middle = static_cast<std::size_t>(half - starts.begin());
    at_once(
        two_threads && kept > few_rows, [&] { sort_buckets(0, middle); },
        [&] { sort_buckets(middle, buckets); });
    return kept;
}

template <class Item>
std::size_t count_levels(const Item* items, std::size_t count) {
    std::size_t levels = count > 0 ? 1 : 0;
    for (std::size_t i = 1; i < count; ++i)
        levels += static_cast<std::size_t>((key_of(items[i]) ^ key_of(items[i - 1])) > 1);
    return levels;
}

// Counts rows of few different predictions in a table: no row is moved, and no memory grows with
// them.
class FewLevels {
public:
    // Counts a row; false if there are too many predictions.
    bool add(std::uint64_t bits, std::size_t outcome) {
        std::size_t slot = static_cast<std::size_t>(bits * 0x9E3779B97F4A7C15U >> shift);
        while (table_[slot].rows != 0 && table_[slot].bits != bits) slot = (slot + 1) % slots;
        Entry& entry = table_[slot];
        if (entry.rows == 0) {
            if (++count_ > most) return false;
            entry.bits = bits;
        }
        ++entry.rows;
        entry.positives += static_cast<std::uint32_t>(outcome);
        return true;
    }
    void hand_over(Levels& levels) {
        const auto end = std::remove_if(table_.begin(), table_.end(),
                                        [](const Entry& entry) { return entry.rows == 0; });
        std::sort(table_.begin(), end,
                  [](const Entry& a, const Entry& b) { return a.bits < b.bits; });
        levels.resize(count_, false);
        for (std::size_t i = 0; i < count_; ++i) {
            levels.prediction[i] = std::bit_cast<double>(table_[i].bits);
            levels.weight[i] = static_cast<double>(table_[i].rows);
            levels.positives[i] = static_cast<double>(table_[i].positives);
        }
    }

private:
    static constexpr std::size_t most = 1024;
    static constexpr std::size_t slots = 4 * most;
    static constexpr int shift = 64 - 12;  // as many bits as there are slots
    struct Entry {
        std::uint64_t bits = 0;
        std::uint32_t rows = 0;
        std::uint32_t positives = 0;
    };
    std::vector<Entry> table_ = std::vector<Entry>(slots);
    std::size_t count_ = 0;
};

// Levels of rows of weight one and outcomes 0 or 1, if they are few; false if they are not.
template <class Outcome>
bool counted(const Rows<Outcome>& rows, Levels& levels) {
    FewLevels few;
    std::size_t bad = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        bad += static_cast<std::size_t>(!good_row(rows, i));
        if (!few.add(bits_of(rows.prediction[i]), coin(rows.outcome[i]))) return false;
    }
    levels.bad_rows = bad;
    if (bad == 0) few.hand_over(levels);
    else levels.resize(0, false);
    return true;
}

// Rows that all weigh one, with outcomes 0 or 1: the outcome rides in the lowest bit of the key,
// so that eight bytes a row are all there is to move.
template <class Outcome>
Levels levels_of_coins(const Rows<Outcome>& rows, bool two_threads) {
    Levels levels;
    if (counted(rows, levels)) return levels;
    Buffer<std::uint64_t> keys;
    const auto key = [&rows](std::uint64_t bits, std::size_t i) {
        return bits << 1 | coin(rows.outcome[i]);
    };
    const std::size_t kept = sorted_items<std::uint64_t>(rows, key, two_threads, keys, levels);
    levels.resize(count_levels(keys.get(), kept), false);
    std::size_t level = 0;
    for (std::size_t i = 0; i < kept; ++level) {
        const std::uint64_t bits = keys[i] >> 1;
        const std::size_t first = i;
        std::uint64_t positives = 0;
        for (; i < kept && keys[i] >> 1 == bits; ++i) positives += keys[i] & 1;
        levels.prediction[level] = std::bit_cast<double>(bits);
        levels.weight[level] = static_cast<double>(i - first);
        levels.positives[level] = static_cast<double>(positives);
    }
    return levels;
}

// Any weights and outcomes: the sort carries the row number, sums gather from the rows.
template <class Outcome>
Levels levels_of_rows(const Rows<Outcome>& rows, bool two_threads) {
    Levels levels;
    Buffer<Keyed> items;
    const auto item = [](std::uint64_t bits, std::size_t i) {
        return Keyed{bits << 1, static_cast<std::uint32_t>(i)};
    };
    const std::size_t kept = sorted_items<Keyed>(rows, item, two_threads, items, levels);
    const bool weighted = rows.weight != nullptr;
    levels.resize(count_levels(items.get(), kept), weighted);
    std::size_t level = 0;
    for (std::size_t i = 0; i < kept; ++level) {
        const std::uint64_t key = items[i].key;
        const std::size_t first = i;
        double weight = 0.0;
        double positives = 0.0;
        double squares = 0.0;
        for (; i < kept && items[i].key == key; ++i) {
            const std::uint32_t row = items[i].index;
            const double w = weighted ? rows.weight[row] : 1.0;
            weight += w;
            positives += w * static_cast<double>(rows.outcome[row]);
            squares += w * w;
        }
        levels.prediction[level] = std::bit_cast<double>(key >> 1);
        levels.weight[level] = weight;
        levels.positives[level] = positives;
        if (!weighted) continue;
        levels.rows[level] = static_cast<double>(i - first);
        levels.weight_squares[level] = squares;
    }
    return levels;
}

template <class Outcome>
Levels levels_of(const Rows<Outcome>& rows, bool two_threads) {
    if (rows.count > max_rows) throw std::length_error(too_many_rows);
    return rows.weight == nullptr && all_whole(rows) ? levels_of_coins(rows, two_threads)
                                                     : levels_of_rows(rows, two_threads);
}

}  // namespace calibrant
