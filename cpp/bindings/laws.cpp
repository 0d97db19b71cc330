#include "calibrant/cutoff.hpp"
#include "calibrant/smooth.hpp"
#include "register.hpp"

#include <nanobind/stl/tuple.h>

namespace calibrant::bindings {

using namespace nb::literals;

double smooth_error(Input<double> prediction, Input<double> weight, Input<double> positives,
                    double lipschitz) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    return SmoothSolver().solve(law, lipschitz);
}

Output smooth_witness(Input<double> prediction, Input<double> weight, Input<double> positives,
                      double lipschitz) {
    const Law law = law_of(prediction, weight, positives);
    Buffer<double> witness = allocate<double>(law.count);
    {
        const nb::gil_scoped_release unlocked;
        SmoothSolver solver;
        solver.solve(law, lipschitz);
        solver.witness(witness.get());
    }
    return hand_over(std::move(witness), law.count);
}

Output smooth_errors(Input<double> prediction, Input<double> weight, Table positives,
                     double lipschitz) {
    same_length(prediction.size(), positives.shape(1));
    const std::size_t draws = positives.shape(0);
    Buffer<double> errors = allocate<double>(draws);
    same_length(prediction.size(), weight.size());
    if (prediction.size() == 0) throw std::invalid_argument("a law has at least one level");
    {
        const nb::gil_scoped_release unlocked;
        SmoothSolver solver;
        for (std::size_t b = 0; b < draws; ++b) {
            const Law law{prediction.data(), weight.data(),
                          positives.data() + b * prediction.size(), prediction.size()};
            errors[b] = solver.solve(law, lipschitz);
        }
    }
    return hand_over(std::move(errors), draws);
}

// lowest at, highest at, lowest, highest, total
std::tuple<std::size_t, std::size_t, double, double, double> cumulative_residuals(
    Input<double> prediction, Input<double> weight, Input<double> positives) {
    const Law law = law_of(prediction, weight, positives);
    const nb::gil_scoped_release unlocked;
    const CumulativeRange range = cumulative_range(law);
    return {range.lowest_at, range.highest_at, range.lowest, range.highest, range.total};
}

void register_laws(nb::module_& m) {
    m.def("smooth_error", &smooth_error, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert());
    m.def("smooth_witness", &smooth_witness, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert());
    m.def("smooth_errors", &smooth_errors, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "lipschitz"_a.noconvert());
    m.def("cumulative_residuals", &cumulative_residuals, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "positives"_a.noconvert());
}

}  // namespace calibrant::bindings
