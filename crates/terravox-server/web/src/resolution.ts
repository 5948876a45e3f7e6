// The resolution of the picture, by how long frames take.

/** Mean seconds of a frame above which the resolution falls. */
const SLOW_FRAME_S = 1 / 25;
/** It rises below the first, or where frames hardly take longer than the display needs: times the shortest. */
const FAST_FRAME_S = 1 / 50;
const FAST_FRAMES = 1.1;
/** A mean is of at least so many frames and seconds, so that one slow frame changes nothing. */
const MIN_FRAMES = 8;
const MIN_WINDOW_S = 0.4;
/** The lowest scale, and that of the first frames where the processor draws. */
const MIN_SCALE = 0.4;
const SOFTWARE_SCALE = 0.5;
/** Seconds of fast frames before a higher resolution is tried: at first, and at most. */
const FIRST_PATIENCE_S = 2;
const MAX_PATIENCE_S = 60;

export class Resolution {
  /** Render scale along each axis, relative to the pixels of the device. */
  scale: number;
  private frames = 0;
  private seconds = 0;
  private fastSeconds = 0;
  /** Shortest mean so far. */
  private shortest = Infinity;
  private patience = FIRST_PATIENCE_S;

  /** A fixed scale, or 0 to adapt it to frame times; `renderer` is the name of what draws. */
  constructor(
    private fixed: number,
    renderer: string,
  ) {
    const isSoftware = /swiftshader|llvmpipe|softpipe|software/i.test(renderer);
    this.scale = fixed || (isSoftware ? SOFTWARE_SCALE : 1);
  }

  /** Takes the seconds of a frame; returns whether the scale has changed. */
  note(seconds: number): boolean {
    this.seconds += seconds;
    this.frames++;
    if (this.fixed || this.frames < MIN_FRAMES || this.seconds < MIN_WINDOW_S) return false;
    const mean = this.seconds / this.frames;
    const before = this.scale;
    this.shortest = Math.min(this.shortest, mean);
    const isFast = mean < Math.max(FAST_FRAME_S, Math.min(SLOW_FRAME_S, FAST_FRAMES * this.shortest));
    this.fastSeconds = isFast ? this.fastSeconds + this.seconds : 0;
    this.frames = this.seconds = 0;
    if (mean > SLOW_FRAME_S) {
      this.scale = Math.max(MIN_SCALE, before * (mean > 2 * SLOW_FRAME_S ? 0.5 : 0.75));
      // Each fall doubles the wait, so that the resolution does not go up and down.
      this.patience = Math.min(MAX_PATIENCE_S, 2 * this.patience);
    } else if (this.fastSeconds >= this.patience) {
      this.scale = Math.min(1, before / 0.75);
      this.fastSeconds = 0;
    }
    return this.scale !== before;
  }
}

/** Returns the name of what draws, or nothing where the browser does not tell. */
export function rendererOf(context: WebGLRenderingContext | WebGL2RenderingContext): string {
  const names = context.getExtension("WEBGL_debug_renderer_info");
  return names ? String(context.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
}
