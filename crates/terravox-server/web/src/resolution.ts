// How many pixels are drawn for each of the screen's, by how long frames take.

/** Seconds a frame, in the mean: above the first, fewer pixels are drawn; below the second, more. */
const [SLOW, FAST] = [1 / 25, 1 / 50];
/** At least so many frames and seconds are looked at. */
const [FRAMES, SECONDS] = [8, 0.4];
/** Smallest scale, and that of a picture which the processor draws, at first. */
const [LEAST, SOFTWARE] = [0.4, 0.5];
/** Seconds of fast frames before more pixels are tried: at first, and at most. */
const [PATIENCE, MOST_PATIENCE] = [2, 60];

export class Resolution {
  /** Pixels of the picture for each pixel of the page. */
  scale: number;
  private frames = 0;
  private seconds = 0;
  private calm = 0;
  private patience = PATIENCE;

  /** Keeps to a scale; 0 for one that frames have time for. */
  constructor(
    private fixed: number,
    renderer: string,
  ) {
    this.scale = fixed || (/swiftshader|llvmpipe|softpipe|software/i.test(renderer) ? SOFTWARE : 1);
  }

  /** Takes the seconds of a frame; returns whether the scale has changed. */
  note(seconds: number): boolean {
    this.seconds += seconds;
    this.frames++;
    if (this.fixed || this.frames < FRAMES || this.seconds < SECONDS) return false;
    const mean = this.seconds / this.frames;
    const before = this.scale;
    this.calm = mean < FAST ? this.calm + this.seconds : 0;
    this.frames = this.seconds = 0;
    if (mean > SLOW) {
      this.scale = Math.max(LEAST, before * (mean > 2 * SLOW ? 0.5 : 0.75));
      // What was too slow is not tried again soon.
      this.patience = Math.min(MOST_PATIENCE, 2 * this.patience);
    } else if (this.calm >= this.patience) {
      this.scale = Math.min(1, before / 0.75);
      this.calm = 0;
    }
    return this.scale !== before;
  }
}

/** The name of what draws, where the browser tells. */
export function rendererOf(context: WebGLRenderingContext | WebGL2RenderingContext): string {
  const names = context.getExtension("WEBGL_debug_renderer_info");
  return names ? String(context.getParameter(names.UNMASKED_RENDERER_WEBGL)) : "";
}
