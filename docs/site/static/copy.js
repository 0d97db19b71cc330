// A button on every block of code that copies what can be run: no prompts, no outputs.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const code = block.querySelector("pre");
    if (!code) continue;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const done = await copied(runnable(code));
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});

function runnable(code) {
  const held = code.cloneNode(true);
  const session = held.querySelector(".gp") !== null;
  for (const part of held.querySelectorAll(session ? ".gp, .go, .gt, .gr" : ".gp")) part.remove();
  const lines = held.textContent.split("\n");
  return (session ? lines.filter((line) => line.trim()) : lines).join("\n").trim() + "\n";
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
