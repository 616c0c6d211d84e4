// A vote: what a presenter's remote control sends leads to the run.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["PageDown", "ArrowRight", " "].includes(event.key)) {
    event.preventDefault();
    document.getElementById("following").click();
  } else if (event.key === "PageUp" || event.key === "ArrowLeft") history.back();
  else if (event.key === "f") document.documentElement.requestFullscreen();
});
