// Radix sort, most significant digits first, that adapts its digits to the keys present:
// each pass cuts the range between the smallest and the largest key into about as many buckets
// as there are items (at most 2^11), so that clusters and log-uniform keys cost a pass or two
// more, never a quadratic number of steps.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace calibrant {

struct Keyed {
    std::uint64_t key;
    std::uint32_t index;
};

inline std::uint64_t key_of(std::uint64_t item) { return item; }
inline std::uint64_t key_of(const Keyed& item) { return item.key; }

inline constexpr int max_digit_bits = 11;
inline constexpr std::size_t max_buckets = std::size_t{1} << max_digit_bits;
inline constexpr std::size_t few_items = 24;

// Maps keys to buckets 0, 1, ... in order; keys outside [low, high] fall into the end buckets.
struct Digits {
    std::uint64_t low;
    std::uint64_t span;
    int shift;

    static Digits between(std::uint64_t low, std::uint64_t high, int digit_bits) {
        const std::uint64_t span = high - low;
        return {low, span, std::max(0, static_cast<int>(std::bit_width(span)) - digit_bits)};
    }
    std::size_t bucket(std::uint64_t key) const {
        const std::uint64_t above = key < low ? 0 : key - low;
        return static_cast<std::size_t>(std::min(above, span) >> shift);
    }
    std::size_t buckets() const { return static_cast<std::size_t>(span >> shift) + 1; }
};

using BucketStarts = std::array<std::uint32_t, max_buckets + 1>;

// Turns counts, kept one place to the right, into the starts of the buckets.
inline void counts_to_starts(BucketStarts& starts, std::size_t buckets) {
    for (std::size_t b = 0; b < buckets; ++b) starts[b + 1] += starts[b];
}

template <class Item>
void insertion_sort(Item* items, std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) {
        const Item item = items[i];
        std::size_t j = i;
        for (; j > 0 && key_of(item) < key_of(items[j - 1]); --j) items[j] = items[j - 1];
        items[j] = item;
    }
}

// Sorts the items `here`, with as much room `there`. The result stands there if `Across`,
// otherwise here; the other place is left in disorder.
template <bool Across, class Item>
void radix_sort(Item* here, Item* there, std::size_t count) {
    if (count <= few_items) {
        insertion_sort(here, count);
        if constexpr (Across) std::copy_n(here, count, there);
        return;
    }
    std::uint64_t low = key_of(here[0]);
    std::uint64_t high = low;
    for (std::size_t i = 1; i < count; ++i) {
        low = std::min(low, key_of(here[i]));
        high = std::max(high, key_of(here[i]));
    }
    if (low == high) {
        if constexpr (Across) std::copy_n(here, count, there);
        return;
    }
    const int digit_bits = std::min(max_digit_bits, static_cast<int>(std::bit_width(count)) - 1);
    const Digits digits = Digits::between(low, high, digit_bits);
    const std::size_t buckets = digits.buckets();
    BucketStarts starts;
    BucketStarts next;
    std::fill_n(starts.begin(), buckets + 1, 0U);
    for (std::size_t i = 0; i < count; ++i) ++starts[digits.bucket(key_of(here[i])) + 1];
    counts_to_starts(starts, buckets);
    std::copy_n(starts.begin(), buckets, next.begin());
    for (std::size_t i = 0; i < count; ++i)
        there[next[digits.bucket(key_of(here[i]))]++] = here[i];
    if (digits.shift == 0) {
        if constexpr (!Across) std::copy_n(there, count, here);
        return;
    }
    for (std::size_t b = 0; b < buckets; ++b)
        radix_sort<!Across>(there + starts[b], here + starts[b], starts[b + 1] - starts[b]);
}

}  // namespace calibrant
