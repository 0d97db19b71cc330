// Compensated running sums: Knuth's error-free addition, which needs no comparison.
#pragma once

namespace calibrant {

class Sum {
public:
    void add(double term) {
        const double next = total_ + term;
        const double added = next - total_;
        lost_ += (total_ - (next - added)) + (term - added);
        total_ = next;
    }
    double value() const { return total_ + lost_; }

private:
    double total_ = 0.0;
    double lost_ = 0.0;
};

}  // namespace calibrant
