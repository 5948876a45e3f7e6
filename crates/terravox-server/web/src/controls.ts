// Keyboard, mouse, touch and gamepad, as what the player wants.

import type { Steering } from "./messages";

/** Radians per pixel of the mouse, and per second of a stick. */
const MOUSE = 0.0022;
const TOUCH = 0.005;
const PAD = 2.6;

export class Controls {
  yaw = 0;
  pitch = 0;
  flying = true;
  /** Whether the tool is in use. */
  using = false;
  private keys = new Set<string>();
  private stick = { x: 0, y: 0 };
  private jumps = false;
  private padButtons: boolean[] = [];

  constructor(
    private canvas: HTMLCanvasElement,
    private command: (name: string, by: number) => void,
    /** Called when the use of the tool begins: a click may be shorter than a frame, and does not wait for one. */
    private click: () => void,
  ) {
    canvas.addEventListener("mousedown", (event) => {
      if (document.pointerLockElement !== canvas) void canvas.requestPointerLock?.();
      if (event.button === 0) this.use(true);
    });
    addEventListener("mouseup", () => (this.using = false));
    addEventListener("blur", () => this.release());
    addEventListener("mousemove", (event) => {
      if (document.pointerLockElement === canvas || (event.buttons & 2) !== 0) {
        this.turn(event.movementX * MOUSE, event.movementY * MOUSE);
      }
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.command("size", event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
    addEventListener("keydown", (event) => this.press(event));
    addEventListener("keyup", (event) => this.keys.delete(event.code));
    this.touch();
  }

  private use(on: boolean) {
    this.using = on;
    if (on) this.click();
  }

  private release() {
    this.keys.clear();
    this.using = false;
  }

  private press(event: KeyboardEvent) {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey) {
      const commands: Record<string, [string, number]> = {
        KeyZ: [event.shiftKey ? "redo" : "undo", 1], KeyY: ["redo", 1],
        KeyC: ["tool", 5], KeyX: ["tool", 6], KeyV: ["tool", 7],
      };
      const found = commands[event.code];
      if (found) {
        event.preventDefault();
        this.command(...found);
      }
      return;
    }
    if (!event.repeat) this.keys.add(event.code);
    const commands: Record<string, [string, number]> = {
      KeyZ: ["undo", 1], KeyY: ["redo", 1], KeyQ: ["material", -1], KeyE: ["material", 1],
      BracketLeft: ["size", -1], BracketRight: ["size", 1], KeyO: ["overlay", 1], KeyT: ["time", 1],
      KeyL: ["link", 1], Slash: ["help", 1], KeyH: ["help", 1], Tab: ["stats", 1],
      KeyR: ["turn", 1],
    };
    const digit = /^Digit(\d)$/.exec(event.code)?.[1];
    if (digit) return this.command("tool", (Number(digit) + 9) % 10);
    const found = commands[event.code];
    if (event.code === "KeyF" && !event.repeat) this.flying = !this.flying;
    else if (found) this.command(...found);
    // Else the browser scrolls or, after `?`, types into the menu.
    if (found || ["Space", "ArrowUp", "ArrowDown"].includes(event.code)) event.preventDefault();
  }

  private turn(dx: number, dy: number) {
    this.yaw -= dx;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch - dy));
  }

  private touch() {
    const panel = document.getElementById("touch")!;
    const stick = document.getElementById("stick")!;
    const knob = stick.firstElementChild as HTMLElement;
    addEventListener("touchstart", () => (panel.hidden = false), { once: true, passive: true });
    const move = (x: number, y: number) => {
      const length = Math.max(1, Math.hypot(x, y));
      this.stick = { x: x / length, y: y / length };
      knob.style.transform = `translate(${this.stick.x * 40}px, ${this.stick.y * 40}px)`;
    };
    const moved = (event: PointerEvent) => {
      const box = stick.getBoundingClientRect();
      move((event.clientX - box.left - 60) / 45, (event.clientY - box.top - 60) / 45);
    };
    stick.addEventListener("pointerdown", (event) => {
      stick.setPointerCapture(event.pointerId);
      moved(event);
    });
    stick.addEventListener("pointermove", (event) => event.buttons && moved(event));
    for (const end of ["pointerup", "pointercancel"]) stick.addEventListener(end, () => move(0, 0));
    const hold = (id: string, set: (on: boolean) => void) => {
      const button = document.getElementById(id)!;
      button.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        set(true);
      });
      for (const end of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(end, () => set(false));
    };
    hold("use", (on) => this.use(on));
    hold("jump", (on) => (this.jumps = on));
    let last: { id: number; x: number; y: number } | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch") return;
      // Else the click that the browser makes of a tap locks the pointer, and fingers are at 0, 0.
      event.preventDefault();
      last = { id: event.pointerId, x: event.clientX, y: event.clientY };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (last?.id !== event.pointerId) return;
      this.turn((event.clientX - last.x) * TOUCH, (event.clientY - last.y) * TOUCH);
      last = { id: event.pointerId, x: event.clientX, y: event.clientY };
    });
    this.canvas.addEventListener("pointerup", () => (last = null));
  }

  private pad(seconds: number): { x: number; y: number; jumps: boolean; fast: boolean; climb: number } {
    const pad = navigator.getGamepads?.().find((one) => one?.mapping === "standard");
    if (!pad) return { x: 0, y: 0, jumps: false, fast: false, climb: 0 };
    const axis = (i: number) => (Math.abs(pad.axes[i] ?? 0) < 0.15 ? 0 : pad.axes[i]!);
    const down = pad.buttons.map((button) => button.pressed);
    const pressed = (i: number) => !!down[i] && !this.padButtons[i];
    this.turn(axis(2) * PAD * seconds, axis(3) * PAD * seconds);
    if (pressed(3)) this.flying = !this.flying;
    if (pressed(4)) this.command("tool", -1);
    if (pressed(5)) this.command("tool", -2);
    if (pressed(2)) this.command("undo", 1);
    if (pressed(12)) this.command("size", 1);
    if (pressed(13)) this.command("size", -1);
    if (pressed(14)) this.command("material", -1);
    if (pressed(15)) this.command("material", 1);
    if (!!down[7] !== !!this.padButtons[7]) this.use(!!down[7]);
    this.padButtons = down;
    const climb = Number(!!down[0]) - Number(!!down[1]);
    return { x: axis(0), y: axis(1), jumps: !!down[0], fast: !!down[10], climb };
  }

  /** What the player wants now. */
  steering(seconds: number): Steering {
    const held = (...codes: string[]) => Number(codes.some((code) => this.keys.has(code)));
    const pad = this.pad(seconds);
    const right = held("KeyD", "ArrowRight") - held("KeyA", "ArrowLeft") + this.stick.x + pad.x;
    const back = held("KeyS", "ArrowDown") - held("KeyW", "ArrowUp") + this.stick.y + pad.y;
    const length = Math.max(1, Math.hypot(right, back));
    const [sin, cos] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    const jumps = held("Space") === 1 || this.jumps || pad.jumps;
    const climb = Math.max(-1, Math.min(1, Number(jumps) - held("KeyC", "ControlLeft") + pad.climb));
    return {
      x: (right * cos + back * sin) / length,
      z: (-right * sin + back * cos) / length,
      climb,
      jumps,
      fast: held("ShiftLeft", "ShiftRight") === 1 || pad.fast,
      flying: this.flying,
    };
  }
}
