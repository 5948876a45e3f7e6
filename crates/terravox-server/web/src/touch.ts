// Fingers: a stick, buttons, and the picture, which turns the eyes.

/** Radians per pixel. */
const TURN = 0.005;

/** What fingers do. */
export interface Touched {
  turn(dx: number, dy: number): void;
  use(on: boolean): void;
  jump(): void;
  command(name: string, by: number): void;
}

/** Buttons that do something once for each touch. */
const COMMANDS: Record<string, [string, number]> = {
  fly: ["fly", 1], undo: ["undo", 1], smaller: ["size", -1], larger: ["size", 1],
};

export class Fingers {
  /** Where the stick is, −1 to 1: right and back. */
  stick = { x: 0, y: 0 };
  isUp = false;
  isDown = false;
  private knob: HTMLElement;
  /** What lifts the finger of an element. */
  private lifts: (() => void)[] = [];

  constructor(canvas: HTMLCanvasElement, touched: Touched) {
    const panel = document.getElementById("touch")!;
    addEventListener("touchstart", () => (panel.hidden = false), { once: true, passive: true });
    const stick = document.getElementById("stick")!;
    this.knob = stick.firstElementChild as HTMLElement;
    this.follow(stick, (event) => {
      const box = stick.getBoundingClientRect();
      this.push((event.clientX - box.left - 60) / 45, (event.clientY - box.top - 60) / 45);
    }, () => this.push(0, 0));
    const hold = (id: string, set: (on: boolean) => void) => {
      const button = document.getElementById(id)!;
      button.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        set(true);
      });
      for (const end of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(end, () => set(false));
    };
    hold("use", (on) => touched.use(on));
    hold("down", (on) => (this.isDown = on));
    hold("jump", (on) => {
      this.isUp = on;
      if (on) touched.jump();
    });
    for (const [id, command] of Object.entries(COMMANDS)) hold(id, (on) => on && touched.command(...command));
    let last = { x: 0, y: 0 };
    this.follow(canvas, (event, isFirst) => {
      // Else the click that the browser makes of a tap locks the pointer, and fingers are at 0, 0.
      if (isFirst) event.preventDefault();
      else touched.turn((event.clientX - last.x) * TURN, (event.clientY - last.y) * TURN);
      last = { x: event.clientX, y: event.clientY };
    });
  }

  /** Lets go of all: the browser does not tell when fingers lift elsewhere. */
  release() {
    [this.isUp, this.isDown] = [false, false];
    for (const lift of this.lifts) lift();
  }

  /** Follows the first finger on an element until it is lifted, whatever others do. */
  private follow(element: HTMLElement, move: (event: PointerEvent, isFirst: boolean) => void, end = () => {}) {
    let finger: number | null = null;
    const lift = () => {
      finger = null;
      end();
    };
    this.lifts.push(lift);
    element.addEventListener("pointerdown", (event) => {
      const isMouse = event.pointerType !== "touch" && element instanceof HTMLCanvasElement;
      if (finger !== null || isMouse) return;
      finger = event.pointerId;
      element.setPointerCapture(finger);
      move(event, true);
    });
    element.addEventListener("pointermove", (event) => event.pointerId === finger && move(event, false));
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      element.addEventListener(type, (event) => {
        if (event.pointerId === finger) lift();
      });
    }
  }

  private push(x: number, y: number) {
    const length = Math.max(1, Math.hypot(x, y));
    this.stick = { x: x / length, y: y / length };
    this.knob.style.transform = `translate(${this.stick.x * 40}px, ${this.stick.y * 40}px)`;
  }
}
