// Keyboard, mouse and gamepad, as what the player wants; fingers are in touch.ts.

import type { Steering } from "./messages";
import { Fingers } from "./touch";

/** Radians per pixel of the mouse, and per second of a stick. */
const MOUSE = 0.0022;
const PAD = 2.6;

type Command = [name: string, by: number];

/** Keys that are held to move, by their place on the keyboard: W A S D also where these letters are elsewhere. */
const MOVES = new Set(["KeyW", "KeyA", "KeyS", "KeyD", "KeyC", "Space", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]);

/** Commands by what is written on the key. */
const KEYS: Record<string, Command> = {
  z: ["undo", 1], y: ["redo", 1], q: ["material", -1], e: ["material", 1], "[": ["size", -1], "]": ["size", 1],
  o: ["overlay", 1], t: ["time", 1], l: ["link", 1], "/": ["help", 1], "?": ["help", 1], h: ["help", 1], i: ["stats", 1],
  r: ["turn", 1], f: ["fly", 1],
};
const WITH_CONTROL: Record<string, Command> = {
  z: ["undo", 1], y: ["redo", 1], c: ["tool", 5], x: ["tool", 6], v: ["tool", 7],
};

/** The command of a key: by what is written on it, else, with letters other than Latin, by its place. */
function commandOf(commands: Record<string, Command>, event: KeyboardEvent): Command | undefined {
  const places: Record<string, string> = { BracketLeft: "[", BracketRight: "]" };
  const place = places[event.code] ?? /^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase();
  return commands[event.key.toLowerCase()] ?? (place === undefined ? undefined : commands[place]);
}

function isMenuOpen() {
  return document.querySelector("dialog[open]") !== null;
}

const AT_REST = { x: 0, y: 0, jumps: false, fast: false, climb: 0 };

export class Controls {
  yaw = 0;
  pitch = 0;
  flying = true;
  /** Whether the tool is in use. */
  using = false;
  private keys = new Set<string>();
  /** Whether a jump began since the last steering was used: a press may be shorter than a frame. */
  private hasJumped = false;
  /** Whether the left button is held. */
  private isPressed = false;
  private padButtons: boolean[] = [];
  private fingers: Fingers;

  constructor(
    private canvas: HTMLCanvasElement,
    private command: (name: string, by: number) => void,
    /** Called when the use of the tool begins: a click may be shorter than a frame, and does not wait for one. */
    private click: () => void,
  ) {
    canvas.addEventListener("mousedown", (event) => this.press(event));
    addEventListener("mouseup", (event) => {
      this.using = false;
      if (event.button === 0) this.isPressed = false;
    });
    document.addEventListener("pointerlockerror", () => this.pressUncaught());
    addEventListener("blur", () => this.release());
    addEventListener("mousemove", (event) => {
      if (document.pointerLockElement === canvas || (event.buttons & 2) !== 0) {
        this.turn(event.movementX * MOUSE, event.movementY * MOUSE);
      }
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      // Shift makes it horizontal.
      const by = event.deltaY || event.deltaX;
      if (by !== 0) this.command("size", by < 0 ? 1 : -1);
    }, { passive: false });
    addEventListener("keydown", (event) => this.keyDown(event));
    addEventListener("keyup", (event) => {
      this.keys.delete(event.code);
      // While ⌘ is held, macOS does not tell that other keys go up.
      if (event.key === "Meta") this.keys.clear();
    });
    this.fingers = new Fingers(canvas, {
      turn: (dx, dy) => this.turn(dx, dy),
      use: (on) => this.use(on),
      jump: () => (this.hasJumped = true),
      command: (name, by) => this.obey([name, by]),
    });
  }

  /** The first click catches the pointer, and the next ones use the tool. */
  private press(event: MouseEvent) {
    this.isPressed = event.button === 0;
    if (document.pointerLockElement === this.canvas) return this.isPressed && this.use(true);
    if (!this.canvas.requestPointerLock) return this.pressUncaught();
    // An event tells of failures.
    Promise.resolve(this.canvas.requestPointerLock()).catch(() => {});
  }

  /** Where the pointer cannot be caught, all clicks use the tool. */
  private pressUncaught() {
    if (this.isPressed) this.use(true);
  }

  private use(on: boolean) {
    this.using = on;
    if (on) this.click();
  }

  private release() {
    this.keys.clear();
    this.fingers.release();
    [this.using, this.hasJumped] = [false, false];
  }

  private obey([name, by]: Command) {
    if (name === "fly") this.flying = !this.flying;
    else this.command(name, by);
  }

  private keyDown(event: KeyboardEvent) {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || isMenuOpen()) return;
    // AltGr counts as both.
    if ((event.ctrlKey || event.metaKey) && !event.altKey) {
      const found = commandOf(WITH_CONTROL, event);
      if (!found) return;
      event.preventDefault();
      return this.obey(found);
    }
    if (!event.repeat) this.keys.add(event.code);
    if (event.code === "Space") this.hasJumped = true;
    const digit = /^Digit(\d)$/.exec(event.code)?.[1];
    if (digit) return this.command("tool", (Number(digit) + 9) % 10);
    const found = MOVES.has(event.code) ? undefined : commandOf(KEYS, event);
    if (found && !(found[0] === "fly" && event.repeat)) this.obey(found);
    // Else the browser scrolls or, after `?`, types into the menu.
    if (found || ["Space", "ArrowUp", "ArrowDown"].includes(event.code)) event.preventDefault();
  }

  private turn(dx: number, dy: number) {
    this.yaw -= dx;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch - dy));
  }

  private findPad(): Gamepad | null {
    try {
      return navigator.getGamepads().find((one) => one?.mapping === "standard") ?? null;
    } catch {
      // In frames it may be forbidden.
      return null;
    }
  }

  private pad(seconds: number): typeof AT_REST {
    const pad = this.findPad();
    // Behind the menu, and without a pad, nothing is held.
    const isHere = pad !== null && !isMenuOpen();
    const down = isHere ? pad.buttons.map((button) => button.pressed) : [];
    const before = this.padButtons;
    this.padButtons = down;
    if (!!down[7] !== !!before[7]) this.use(!!down[7]);
    if (!isHere) return AT_REST;
    const axis = (i: number) => (Math.abs(pad.axes[i] ?? 0) < 0.15 ? 0 : pad.axes[i]!);
    this.turn(axis(2) * PAD * seconds, axis(3) * PAD * seconds);
    const commands: Record<number, Command> = {
      2: ["undo", 1], 3: ["fly", 1], 4: ["tool", -1], 5: ["tool", -2],
      12: ["size", 1], 13: ["size", -1], 14: ["material", -1], 15: ["material", 1],
    };
    for (const [button, command] of Object.entries(commands)) {
      if (down[Number(button)] && !before[Number(button)]) this.obey(command);
    }
    const climb = Number(!!down[0]) - Number(!!down[1]);
    return { x: axis(0), y: axis(1), jumps: !!down[0], fast: !!down[10], climb };
  }

  /** What the player wants now. */
  steering(seconds: number): Steering {
    const held = (...codes: string[]) => Number(codes.some((code) => this.keys.has(code)));
    const pad = this.pad(seconds);
    const { stick, isUp, isDown } = this.fingers;
    const right = held("KeyD", "ArrowRight") - held("KeyA", "ArrowLeft") + stick.x + pad.x;
    const back = held("KeyS", "ArrowDown") - held("KeyW", "ArrowUp") + stick.y + pad.y;
    const length = Math.max(1, Math.hypot(right, back));
    const [sin, cos] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    const jumps = held("Space") === 1 || isUp || pad.jumps;
    const climb = Math.max(-1, Math.min(1, Number(jumps) - Number(isDown) - held("KeyC") + pad.climb));
    return {
      x: (right * cos + back * sin) / length,
      z: (-right * sin + back * cos) / length,
      climb,
      jumps: jumps || this.hasJumped,
      fast: held("ShiftLeft", "ShiftRight") === 1 || pad.fast,
      flying: this.flying,
    };
  }

  /** Notes that the worker has the steering. */
  noteSteered() {
    this.hasJumped = false;
  }
}
