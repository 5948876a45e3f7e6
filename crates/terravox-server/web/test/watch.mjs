// Runs in a page before its scripts: notes what the worker says and what the graphics card holds.

export function watch() {
  const seen = {
    /** Frames of the world: how many, the last ones, and for how many nothing changed of the meshes. */
    count: 0,
    frames: [],
    still: 0,
    news: [],
    lost: [],
    avatars: [],
    bodies: 0,
    /** Their heights, metres. */
    heights: [],
    /** Messages to the worker, by type; objects of the graphics card that are alive, by kind. */
    posts: {},
    gpu: {},
    draws: false,
    /** What the script of a test counts in the worker. */
    counted: undefined,
  };
  globalThis.seen = seen;

  const note = ({ data }) => {
    if (data.type === "news") seen.news.push(data.text);
    if (data.type === "lost") seen.lost.push(data.text);
    if (data.type === "avatar") seen.avatars.push(data.name);
    if (data.type === "counted") seen.counted = data.count;
    if (data.type !== "frame") return;
    seen.bodies = data.bodies.length / 9;
    seen.heights = Array.from({ length: seen.bodies }, (_, i) => data.bodies[9 * i + 3]);
    const { eye, onGround, inWater, aim, stats } = data;
    seen.count++;
    seen.frame = { eye, onGround, inWater, aim, stats };
    const shown = `${terravox.state().meshes} ${terravox.state().triangles}`;
    seen.still = stats.settled && seen.shown === shown ? seen.still + 1 : 0;
    seen.shown = shown;
    seen.frames.push(seen.frame);
    seen.frames.splice(0, seen.frames.length - 600);
  };
  globalThis.Worker = class extends Worker {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", note);
    }

    postMessage(message, ...rest) {
      seen.posts[message.type] = (seen.posts[message.type] ?? 0) + 1;
      super.postMessage(message, ...rest);
    }
  };

  const gl = WebGL2RenderingContext.prototype;
  for (const kind of ["Buffer", "Texture", "VertexArray", "Framebuffer", "Program"]) {
    const [create, remove] = [gl[`create${kind}`], gl[`delete${kind}`]];
    const alive = new Set();
    gl[`create${kind}`] = function () {
      const made = create.call(this);
      alive.add(made);
      seen.gpu[kind] = alive.size;
      return made;
    };
    gl[`delete${kind}`] = function (made) {
      alive.delete(made);
      seen.gpu[kind] = alive.size;
      return remove.call(this, made);
    };
  }
  // Bytes of buffers that are alive. What was bound tells which one is meant.
  const [sizes, bound] = [new Map(), new Map()];
  const { bindBuffer, bufferData, deleteBuffer } = gl;
  const noteSize = (buffer, bytes) => {
    seen.gpu.bufferBytes = (seen.gpu.bufferBytes ?? 0) + bytes - (sizes.get(buffer) ?? 0);
    if (bytes > 0) sizes.set(buffer, bytes);
    else sizes.delete(buffer);
  };
  gl.bindBuffer = function (target, buffer) {
    bound.set(target, buffer);
    return bindBuffer.call(this, target, buffer);
  };
  gl.bufferData = function (target, data, ...rest) {
    noteSize(bound.get(target), typeof data === "number" ? data : (data?.byteLength ?? 0));
    return bufferData.call(this, target, data, ...rest);
  };
  gl.deleteBuffer = function (buffer) {
    noteSize(buffer, 0);
    return deleteBuffer.call(this, buffer);
  };
  // Only for pictures: where a processor draws, it has no time for anything else.
  for (const name of ["drawElements", "drawElementsInstanced", "drawArrays"]) {
    const draw = gl[name];
    gl[name] = function (...args) {
      if (seen.draws) draw.apply(this, args);
    };
  }
}
