// Screenshots as a GIF has them: at most 255 colours for all frames, and of each frame the
// rectangle that changed, in which the 256th colour stands for a pixel that did not.
() => {
  const UNCHANGED = 255;
  const counts = new Map();
  const nearest = new Map();
  let palette = [];
  let before = null;

  const pixels = async (png) => {
    const found = await fetch(`data:image/png;base64,${png}`);
    const bitmap = await createImageBitmap(await found.blob());
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    return { width, height, colours: new Uint32Array(data.buffer) };
  };
  const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];

  /** The colours of one more screenshot. */
  const count = async (png) => {
    for (const colour of (await pixels(png)).colours)
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
  };

  /** The most frequent colours, as red, green, blue, red, …; to be asked after all counts. */
  const choose = () => {
    const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, UNCHANGED);
    palette = most.map(([colour]) => parts(colour));
    most.forEach(([colour], index) => nearest.set(colour, index));
    return palette.flat();
  };

  const indexOf = (colour) => {
    let best = nearest.get(colour);
    if (best !== undefined) return best;
    const [r, g, b] = parts(colour);
    let least = Infinity;
    palette.forEach(([x, y, z], index) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) { least = far; best = index; }
    });
    nearest.set(colour, best);
    return best;
  };

  /** A screenshot's colours by their places in the palette, from what changed. */
  const frame = async (png) => {
    const { width, height, colours } = await pixels(png);
    const now = Uint8Array.from(colours, indexOf);
    let [left, top, right, bottom] = [width, height, -1, -1];
    for (let i = 0; i < now.length; i++) {
      if (before && now[i] === before[i]) continue;
      const x = i % width, y = (i - x) / width;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      bottom = y;
    }
    if (right < 0) [left, top, right, bottom] = [0, 0, 0, 0];  // a GIF's frame is never empty
    let text = "";
    for (let y = top; y <= bottom; y++)
      for (let x = left; x <= right; x++) {
        const i = y * width + x;
        text += String.fromCharCode(before && now[i] === before[i] ? UNCHANGED : now[i]);
      }
    before = now;
    const size = [right - left + 1, bottom - top + 1];
    return { left, top, width: size[0], height: size[1], data: btoa(text) };
  };

  window.frames_of_a_gif = { count, choose, frame };
}
