// A set of integers 0 .. size-1 that answers "smallest", "largest", "next after" and "last
// before" in a few word operations: a tree of bitmaps with 64 children per node.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace calibrant {

class RankSet {
public:
    void reset(std::size_t size) {
        levels_.clear();
        std::size_t words = size;
        do {
            words = (words + 63) / 64;
            levels_.emplace_back(words, std::uint64_t{0});
        } while (words > 1);
    }
    void insert(std::size_t member) {
        for (auto& level : levels_) {
            std::uint64_t& word = level[member / 64];
            const bool was_empty = word == 0;
            word |= std::uint64_t{1} << (member % 64);
            if (!was_empty) return;
            member /= 64;
        }
    }
    void erase(std::size_t member) {
        for (auto& level : levels_) {
            std::uint64_t& word = level[member / 64];
            word &= ~(std::uint64_t{1} << (member % 64));
            if (word != 0) return;
            member /= 64;
        }
    }
    // The smallest member above `member`; there must be one.
    std::size_t next_after(std::size_t member) const {
        for (std::size_t depth = 0; depth < levels_.size(); ++depth, member /= 64) {
            const std::uint64_t above = (~std::uint64_t{1}) << (member % 64);
            const std::uint64_t found = levels_[depth][member / 64] & above;
            if (found == 0) continue;
            member = member / 64 * 64 + static_cast<std::size_t>(std::countr_zero(found));
            while (depth-- > 0)
                member = member * 64 +
                         static_cast<std::size_t>(std::countr_zero(levels_[depth][member]));
            return member;
        }
        return member;
    }
    // The largest member below `member`; there must be one.
    std::size_t last_before(std::size_t member) const {
        for (std::size_t depth = 0; depth < levels_.size(); ++depth, member /= 64) {
            const std::uint64_t below = (std::uint64_t{1} << (member % 64)) - 1;
            const std::uint64_t found = levels_[depth][member / 64] & below;
            if (found == 0) continue;
            member = member / 64 * 64 + highest_bit(found);
            while (depth-- > 0) member = member * 64 + highest_bit(levels_[depth][member]);
            return member;
        }
        return member;
    }

private:
    static std::size_t highest_bit(std::uint64_t word) {
        return static_cast<std::size_t>(63 - std::countl_zero(word));
    }
    std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace calibrant
