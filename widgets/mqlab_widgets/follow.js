// The status of a followed run. Follows player.js and widget.js in one module, whose names it uses.
// Text from Python only ever becomes textContent.

/** Follow: where the facts come from, and whether they still come. */
function follow(model, host) {
  const status = make("div", { className: "status" });
  status.setAttribute("role", "status");
  host.append(status);
  return () => {
    const { status: text, failed } = model.get("ui");
    status.textContent = text;
    status.classList.toggle("failed", failed);
  };
}

export default { render: (context) => render(context, follow) };
