// The times of frames and the bytes of the link, as a small drawing.

const SAMPLES = 180;
const [WIDTH, HEIGHT] = [SAMPLES, 48];

export class Graph {
  private frames: number[] = [];
  private bytes: number[] = [];
  private lastBytes = 0;

  constructor(private canvas: HTMLCanvasElement) {
    [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  }

  /** Notes a frame: its milliseconds, and all bytes that came until now. */
  note(millis: number, received: number) {
    this.frames.push(millis);
    this.bytes.push(received - this.lastBytes);
    this.lastBytes = received;
    this.frames.splice(0, this.frames.length - SAMPLES);
    this.bytes.splice(0, this.bytes.length - SAMPLES);
  }

  /** Bars are frames, a line at 16.7 ms; the curve is what the server sent, 64 KiB a frame at the top. */
  draw(isShown: boolean) {
    this.canvas.hidden = !isShown;
    const context = isShown ? this.canvas.getContext("2d") : null;
    if (!context) return;
    context.clearRect(0, 0, WIDTH, HEIGHT);
    const heightOf = (millis: number) => Math.min(HEIGHT, (millis / 50) * HEIGHT);
    this.frames.forEach((millis, x) => {
      context.fillStyle = millis > 34 ? "#e5533d" : millis > 17.5 ? "#e8b23a" : "#69c06b";
      context.fillRect(x, HEIGHT - heightOf(millis), 1, heightOf(millis));
    });
    context.fillStyle = "#fff8";
    context.fillRect(0, HEIGHT - heightOf(16.7), WIDTH, 1);
    context.strokeStyle = "#7cc4ff";
    context.beginPath();
    this.bytes.forEach((bytes, x) => context.lineTo(x, HEIGHT - 1 - Math.min(1, bytes / 65536) * (HEIGHT - 2)));
    context.stroke();
  }
}
