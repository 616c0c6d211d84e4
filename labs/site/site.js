// A page's pictures begin to play as soon as the player is there; several runs on one slider too.
for (const element of document.querySelectorAll(".mqlab[data-heading]")) {
  mount(element).then((player) => { if (player.data.beside) compareRuns(player); });
}
