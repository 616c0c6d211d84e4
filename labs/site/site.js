// A page's pictures begin to play as soon as the player is there; several runs on one slider too.
// Who comes from the page's twin is shown the step that stood there.
const [, asked] = /^#step=(\d+)$/.exec(location.hash) ?? [];
for (const element of document.querySelectorAll(".mqlab[data-heading]")) {
  const alone = element.dataset.heading === "h1"; // a story, with a page of its own
  mount(element, alone && innerWidth >= 1100 ? 1.2 : 1).then((player) => {
    if (player.data.beside) compareRuns(player);
    if (asked) player.go(Number(asked));
  });
}
