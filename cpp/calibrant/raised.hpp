// Isotonic regression with one more row of outcome 1, for every level that the row may have.
//
// The regression is the slope of the greatest convex minorant of the cumulative sums (weight,
// positives). A row at level i moves all earlier points by (-1, -1); from one level to the next a
// single point moves. A stack that holds the minorant to the right of the row, leftmost corner on
// top, thus pays O(1) amortised per level (Vovk, Petej, Fedorova 2015, Large-scale probabilistic
// predictors with and without guarantees of validity, algorithms 1 and 2).
#pragma once

#include <cstddef>

#include "buffer.hpp"

namespace calibrant {

struct Corner {
    double weight;
    double positives;
};

// Twice the area to the left of the way a, b, c: positive where it turns left.
inline double turn(const Corner& a, const Corner& b, const Corner& c) {
    return (b.weight - a.weight) * (c.positives - b.positives) -
           (b.positives - a.positives) * (c.weight - b.weight);
}

// Fills `value[i]` with the regression at level i once a row of outcome 1 is added there.
inline void raised(const double* weight, const double* positives, std::size_t count,
                   double* value) {
    const Buffer<Corner> sums = allocate<Corner>(count + 1);
    sums[0] = {0.0, 0.0};
    for (std::size_t i = 0; i < count; ++i)
        sums[i + 1] = {sums[i].weight + weight[i], sums[i].positives + positives[i]};

    const Buffer<Corner> stack = allocate<Corner>(count + 1);
    std::size_t size = 0;
    const auto push = [&](const Corner& corner) {
        while (size > 1 && turn(corner, stack[size - 1], stack[size - 2]) <= 0.0) --size;
        stack[size++] = corner;
    };
    for (std::size_t i = count; i > 0; --i) push(sums[i]);
    for (std::size_t i = 0; i < count; ++i) {
        const Corner moved{sums[i].weight - 1.0, sums[i].positives - 1.0};
        if (i == 0) {
            push(moved);
        } else if (turn(stack[size - 1], moved, stack[size - 2]) > 0.0) {
            --size;
            push(moved);
        }
        const Corner& from = stack[size - 1];
        const Corner& to = stack[size - 2];
        value[i] = (to.positives - from.positives) / (to.weight - from.weight);
    }
}

}  // namespace calibrant
