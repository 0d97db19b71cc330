#include "calibrant/decisions.hpp"
#include "calibrant/lipschitz.hpp"
#include "calibrant/raised.hpp"
#include "register.hpp"

#include <nanobind/stl/tuple.h>

namespace calibrant::bindings {

using namespace nb::literals;

Pools pools_of(const Input<double>& weight, const Input<double>& positives) {
    same_length(weight.size(), positives.size());
    if (weight.size() > max_rows) throw std::length_error(too_many_rows);
    return {weight.data(), positives.data(), weight.size()};
}

// single threshold, its loss, first of two thresholds, its loss, second, its loss
std::tuple<double, double, double, double, double, double> worst_thresholds(
    Input<double> prediction, Input<double> weight, Input<double> positives,
    Input<double> pool_weight, Input<double> pool_positives) {
    const Law law = law_of(prediction, weight, positives);
    const Pools pools = pools_of(pool_weight, pool_positives);
    const nb::gil_scoped_release unlocked;
    const WorstThresholds worst = calibrant::worst_thresholds(law, pools);
    return {worst.single,     worst.single_loss, worst.first,
            worst.first_loss, worst.second,      worst.second_loss};
}

// thresholds, losses from the left, losses from the right
std::tuple<Output, Output, Output> loss_curve(Input<double> prediction, Input<double> weight,
                                              Input<double> positives, Input<double> pool_weight,
                                              Input<double> pool_positives) {
    const Law law = law_of(prediction, weight, positives);
    const Pools pools = pools_of(pool_weight, pool_positives);
    LossCurve curve;
    {
        const nb::gil_scoped_release unlocked;
        curve = calibrant::loss_curve(law, pools);
    }
    return {hand_over(std::move(curve.threshold), curve.count),
            hand_over(std::move(curve.left), curve.count),
            hand_over(std::move(curve.right), curve.count)};
}

// losses from the left and from the right of increasing thresholds
std::tuple<Output, Output> losses_at(Input<double> prediction, Input<double> weight,
                                     Input<double> positives, Input<double> pool_weight,
                                     Input<double> pool_positives, Input<double> threshold) {
    const Law law = law_of(prediction, weight, positives);
    const Pools pools = pools_of(pool_weight, pool_positives);
    const std::size_t count = threshold.size();
    Buffer<double> left = allocate<double>(count);
    Buffer<double> right = allocate<double>(count);
    {
        const nb::gil_scoped_release unlocked;
        calibrant::losses_at(law, pools, threshold.data(), count, left.get(), right.get());
    }
    return {hand_over(std::move(left), count), hand_over(std::move(right), count)};
}

Output lipschitz_fit(Input<double> position, Input<double> linear, Input<double> quadratic,
                     double bound) {
    const std::size_t count = position.size();
    same_length(count, linear.size());
    same_length(count, quadratic.size());
    if (count == 0) throw std::invalid_argument("a fit needs at least one position");
    Buffer<double> fit = allocate<double>(count);
    {
        const nb::gil_scoped_release unlocked;
        calibrant::lipschitz_fit(position.data(), linear.data(), quadratic.data(), count, bound,
                                 fit.get());
    }
    return hand_over(std::move(fit), count);
}

Output raised(Input<double> weight, Input<double> positives) {
    const Pools pools = pools_of(weight, positives);
    Buffer<double> value = allocate<double>(pools.count);
    {
        const nb::gil_scoped_release unlocked;
        calibrant::raised(pools.weight, pools.positives, pools.count, value.get());
    }
    return hand_over(std::move(value), pools.count);
}

void register_decisions(nb::module_& m) {
    m.def("worst_thresholds", &worst_thresholds, "prediction"_a.noconvert(),
          "weight"_a.noconvert(), "positives"_a.noconvert(), "pool_weight"_a.noconvert(),
          "pool_positives"_a.noconvert());
    m.def("loss_curve", &loss_curve, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "pool_weight"_a.noconvert(),
          "pool_positives"_a.noconvert());
    m.def("losses_at", &losses_at, "prediction"_a.noconvert(), "weight"_a.noconvert(),
          "positives"_a.noconvert(), "pool_weight"_a.noconvert(), "pool_positives"_a.noconvert(),
          "threshold"_a.noconvert());
    m.def("lipschitz_fit", &lipschitz_fit, "position"_a.noconvert(), "linear"_a.noconvert(),
          "quadratic"_a.noconvert(), "bound"_a.noconvert());
    m.def("raised", &raised, "weight"_a.noconvert(), "positives"_a.noconvert());
}

}  // namespace calibrant::bindings
