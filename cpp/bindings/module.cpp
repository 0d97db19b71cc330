#include "register.hpp"

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels: they trust the lengths and types of what they are given.";
    calibrant::bindings::register_rows(m);
    calibrant::bindings::register_laws(m);
    calibrant::bindings::register_bets(m);
    calibrant::bindings::register_decisions(m);
    calibrant::bindings::register_online(m);
}
