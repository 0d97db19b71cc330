// Rows as the caller holds them: predictions, outcomes of one of three types, perhaps weights.
// A row is good when its prediction is in [0, 1], its outcome too, and its weight is finite and
// not negative. Every pass that reads rows counts the bad ones; what is wrong with them is for
// the caller to find out.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace calibrant {

template <class Outcome>
struct Rows {
    const double* prediction;
    const Outcome* outcome;
    const double* weight;  // null: every row weighs one
    std::size_t count;
};

inline constexpr std::size_t max_rows = std::numeric_limits<std::uint32_t>::max();
inline constexpr const char* too_many_rows =
    "at most 2^32 - 1 rows fit in one call: make a Joint of each part and add them";
inline constexpr std::uint64_t bits_of_one = 0x3FF0000000000000U;

// Bits of a double in [0, 1] are ordered as the numbers are. Adding zero turns -0.0 into 0.0;
// anything outside [0, 1], and NaN, has larger bits than one has.
inline std::uint64_t bits_of(double prediction) {
    return std::bit_cast<std::uint64_t>(prediction + 0.0);
}

inline bool good_prediction(std::uint64_t bits) { return bits <= bits_of_one; }

template <class Outcome>
bool good_outcome(Outcome outcome) {
    if constexpr (std::is_integral_v<Outcome>)
        return static_cast<std::make_unsigned_t<Outcome>>(outcome) <= 1;
    else return outcome >= 0.0 && outcome <= 1.0;
}

// Whole outcomes let a row be a coin; anything between is a mean that inference cannot redraw.
template <class Outcome>
bool whole_outcome(Outcome outcome) {
    if constexpr (std::is_integral_v<Outcome>) return true;
    else return outcome == 0.0 || outcome == 1.0;
}

template <class Outcome>
bool all_whole(const Rows<Outcome>& rows) {
    if constexpr (!std::is_integral_v<Outcome>)
        for (std::size_t i = 0; i < rows.count; ++i)
            if (!whole_outcome(rows.outcome[i])) return false;
    return true;
}

// An outcome that was found to be 0 or 1, as an index. The rows belong to the caller, and another
// thread may write to them after they were checked: an index stays within bounds all the same.
template <class Outcome>
std::size_t coin(Outcome outcome) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(outcome)) & 1;
}

inline bool good_weight(double weight) {
    return weight >= 0.0 && weight <= std::numeric_limits<double>::max();
}

template <class Outcome>
bool good_row(const Rows<Outcome>& rows, std::size_t i) {
    return good_prediction(bits_of(rows.prediction[i])) && good_outcome(rows.outcome[i]) &&
           (rows.weight == nullptr || good_weight(rows.weight[i]));
}

// Leaves the top bit set in `flags` if a double is negative, NaN or beyond `highest`: integer
// arithmetic, so that any compiler turns a loop of these into vector instructions.
inline void flag_outside(std::uint64_t& flags, double value, std::uint64_t highest) {
    const std::uint64_t bits = bits_of(value);
    flags |= bits | (highest - bits);
}

template <class Outcome>
bool all_good(const Rows<Outcome>& rows, std::size_t start, std::size_t end) {
    constexpr std::uint64_t bits_of_largest = 0x7FEFFFFFFFFFFFFFU;
    std::uint64_t flags = 0;
    std::uint64_t labels = 0;
    for (std::size_t i = start; i < end; ++i) flag_outside(flags, rows.prediction[i], bits_of_one);
    for (std::size_t i = start; i < end; ++i) {
        if constexpr (std::is_integral_v<Outcome>)
            labels |= static_cast<std::make_unsigned_t<Outcome>>(rows.outcome[i]);
        else flag_outside(flags, rows.outcome[i], bits_of_one);
    }
    if (rows.weight != nullptr)
        for (std::size_t i = start; i < end; ++i)
            flag_outside(flags, rows.weight[i], bits_of_largest);
    return flags >> 63 == 0 && labels <= 1;
}

template <class Outcome>
std::size_t count_bad(const Rows<Outcome>& rows, std::size_t start, std::size_t end) {
    if (all_good(rows, start, end)) return 0;
    std::size_t bad = 0;
    for (std::size_t i = start; i < end; ++i) bad += static_cast<std::size_t>(!good_row(rows, i));
    return bad;
}

}  // namespace calibrant
