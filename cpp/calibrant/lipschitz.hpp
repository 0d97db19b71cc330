// The best Lipschitz response: maximise the sum of linear_i x_i - quadratic_i x_i^2 / 2 over
// x with |x_i| <= bound and |x_{i+1} - x_i| <= gap_i.
//
// Dynamic programme over the derivative of the value function, which decreases: knots left of its
// root are positive, those right of it negative. One step adds a line to all of them; the next
// gap moves the left ones down, the right ones up, and leaves a plateau at zero between. Both
// sides are stacks that end at the root, and moves and lines are kept for a side as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace calibrant {

class KnotSide {
public:
    struct Knot {
        double at;
        double value;
    };

    bool empty() const { return knots_.empty(); }
    Knot top() const {
        const Knot& kept = knots_.back();
        return {kept.at + shift_, kept.value + constant_ + slope_ * kept.at};
    }
    void push(Knot knot) {
        const double at = knot.at - shift_;
        knots_.push_back({at, knot.value - constant_ - slope_ * at});
    }
    Knot pop() {
        const Knot knot = top();
        knots_.pop_back();
        return knot;
    }
    void clear() { knots_.clear(); }
    void move(double by) { shift_ += by; }
    void add_line(double constant, double slope) {
        constant_ += constant + slope * shift_;
        slope_ += slope;
    }

private:
    std::vector<Knot> knots_;
    double shift_ = 0.0;
    double constant_ = 0.0;
    double slope_ = 0.0;
};

class LipschitzFit {
public:
    explicit LipschitzFit(double bound) : bound_(bound) {
        low_.push({-bound, 0.0});
        high_.push({bound, 0.0});
    }

    // Adds a term and returns where the value function is largest.
    double add(double linear, double quadratic) {
        low_.add_line(linear, -quadratic);
        high_.add_line(linear, -quadratic);
        while (!low_.empty() && low_.top().value < 0.0) high_.push(low_.pop());
        while (!high_.empty() && high_.top().value > 0.0) low_.push(high_.pop());
        const double root = find_root();
        if (root > bound_) return cut(low_, high_, bound_);
        if (root < -bound_) return cut(high_, low_, -bound_);
        open(root);
        return root;
    }
    // Lets the next term be this far from the last.
    void widen(double gap) {
        low_.move(-gap);
        high_.move(gap);
    }

private:
    using Knot = KnotSide::Knot;

    double find_root() const {
        if (high_.empty()) return 2.0 * bound_;
        if (low_.empty()) return -2.0 * bound_;
        const Knot low = low_.top();
        const Knot high = high_.top();
        const double drop = low.value - high.value;
        if (!(drop > 0.0)) return std::clamp(0.0, low.at, std::max(low.at, high.at));
        return low.at + (high.at - low.at) * (low.value / drop);
    }
    void open(double root) {
        low_.push({root, 0.0});
        high_.push({root, 0.0});
    }
    // The root lies beyond an end of the box: forget what is beyond it and jump to zero there.
    double cut(KnotSide& inner, KnotSide& outer, double end) {
        const auto beyond = [end](const Knot& knot) {
            return end > 0.0 ? knot.at > end : knot.at < end;
        };
        Knot last = outer.empty() ? inner.top() : outer.top();
        while (!inner.empty() && beyond(inner.top())) last = inner.pop();
        const Knot first = inner.empty() ? last : inner.top();  // empty only beyond all numbers
        const double share = last.at == first.at ? 0.0 : (end - first.at) / (last.at - first.at);
        outer.clear();
        inner.push({end, first.value + share * (last.value - first.value)});
        open(end);
        return end;
    }

    KnotSide low_;
    KnotSide high_;
    double bound_;
};

inline void lipschitz_fit(const double* position, const double* linear, const double* quadratic,
                          std::size_t count, double bound, double* fit) {
    LipschitzFit solver(bound);
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0) solver.widen(position[i] - position[i - 1]);
        fit[i] = solver.add(linear[i], quadratic[i]);
    }
    for (std::size_t i = count - 1; i-- > 0;) {
        const double gap = position[i + 1] - position[i];
        fit[i] = std::clamp(fit[i], fit[i + 1] - gap, fit[i + 1] + gap);
    }
}

}  // namespace calibrant
