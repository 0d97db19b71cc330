"use strict";
(() => {
  document.documentElement.classList.add("js");
  const curve = JSON.parse(document.getElementById("curve").textContent);
  const slider = document.getElementById("threshold");
  const alarm = document.getElementById("false-alarm");
  const miss = document.getElementById("miss");
  const shown = document.getElementById("threshold-shown");
  // Losses when the two costs add up to one, linear between the thresholds of the table.
  const at = (t, column) => {
    const n = curve.threshold.length;
    if (t <= curve.threshold[0]) return column[0] * t / curve.threshold[0];
    if (t >= curve.threshold[n - 1]) return column[n - 1] * (1 - t) / (1 - curve.threshold[n - 1]);
    let i = 0;
    while (curve.threshold[i + 1] < t) i += 1;
    const share = (t - curve.threshold[i]) / (curve.threshold[i + 1] - curve.threshold[i]);
    return column[i] * (1 - share) + column[i + 1] * share;
  };
  const show = (t, total) => {
    shown.textContent = t.toFixed(3);
    for (const [name, column] of [["cost", curve.loss], ["perfect", curve.perfect], ["most", curve.most]])
      document.getElementById(name).textContent = (total * at(t, column)).toPrecision(3);
    document.getElementById("chance").hidden = at(t, curve.loss) > at(t, curve.most);
  };
  slider.addEventListener("input", () => {
    const t = Number(slider.value);
    alarm.value = t.toFixed(3);
    miss.value = (1 - t).toFixed(3);
    show(t, 1);
  });
  const fromCosts = () => {
    const a = Number(alarm.value);
    const b = Number(miss.value);
    if (!(a > 0 && b > 0)) return;
    slider.value = String(a / (a + b));
    show(a / (a + b), a + b);
  };
  alarm.addEventListener("input", fromCosts);
  miss.addEventListener("input", fromCosts);
  show(Number(slider.value), Number(alarm.value) + Number(miss.value));
})();
