// A page's pictures begin to play as soon as the player is there; several runs on one slider too.
// Who comes from the page's twin is shown the step that stood there.
const [, asked] = /^#step=(\d+)$/.exec(location.hash) ?? [];
for (const element of document.querySelectorAll(".mqlab[data-heading]")) {
  mount(element).then((player) => {
    if (player.data.beside) compareRuns(player);
    if (asked) player.go(Number(asked));
  });
}
