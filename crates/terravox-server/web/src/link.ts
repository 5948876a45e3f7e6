// The link to a server: a WebSocket that is opened again when it breaks.

/** Milliseconds before a broken link is tried again, with a random part: at first, and at most. */
const RETRY_MS = [500, 8000] as const;
/** Milliseconds without a message until the server counts as gone, and until a link has to be open. */
const MAX_SILENCE_MS = 7000;
const MAX_CONNECTING_MS = 10_000;
/** Milliseconds without anything to send after which an empty message is sent. */
const KEEP_ALIVE_MS = 2000;
/** At most this much of the time between two polls counts as silence: a thread that was busy or asleep heard nothing. */
const MAX_POLL_MS = 1500;
/** Milliseconds that the server may take to say why it refuses a link, and characters of what it says. */
const MAX_REFUSAL_MS = 5000;
const MAX_REASON = 200;
/** Bytes that may wait in the socket. What it cannot send yet stays with the guest, so that edits overtake cells. */
const MAX_BUFFERED = 65536;

/** The WebSocket close code of a refusal, and the reasons after which a link is tried again all the same. */
const REFUSED_CODE = 1008;
const RETRYABLE_REASONS = ["", "the server ends", "nothing that was sent was taken in time", "nothing came from you for 7 s"];

/** Why a server refuses a world that may be there again later: it had a fault, or is not served now. */
const AWAY = /\bhas stopped\b|\bno world of this name\b/;

/** What a link tells its owner. */
export interface LinkEvents {
  opened(): void;
  /** A message that is not empty. */
  received(packet: Uint8Array): void;
  /** It broke, and is tried again. */
  broke(reason: string): void;
  /** The server refuses it. */
  refused(reason: string): void;
}

/** Why the server of an address refuses a link, which a WebSocket does not tell; null if it does not, or is not ours. */
async function refusal(address: string): Promise<string | null> {
  const url = new URL(address);
  url.protocol = url.protocol.replace("ws", "http");
  try {
    const response = await fetch(url, { cache: "no-store", signal: AbortSignal.timeout(MAX_REFUSAL_MS) });
    const isRefused = response.headers.has("terravox-server") && [403, 404].includes(response.status);
    return isRefused ? (await response.text()).trim().slice(0, MAX_REASON) : null;
  } catch {
    return null;
  }
}

export class ServerLink {
  /** Bytes of messages. */
  bytesReceived = 0;
  bytesSent = 0;
  private socket: WebSocket | null = null;
  private hasOpened = false;
  private hasJoined = false;
  private isClosed = false;
  private retryMs: number = RETRY_MS[0];
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Milliseconds that nothing came, or that it has been connecting. */
  private silence = 0;
  private lastPoll = 0;
  private lastSent = 0;

  constructor(
    private address: string,
    private events: LinkEvents,
  ) {
    this.connect();
  }

  get isOpen() {
    return this.socket !== null && this.hasOpened;
  }

  /** Notes that the server has let this visitor in: the next break is tried again soon. */
  noteJoined() {
    [this.hasJoined, this.retryMs] = [true, RETRY_MS[0]];
  }

  /** Whether a server that ended a link for a reason may take this visitor again: whose edits wait, also when it is away. */
  mayRetry(reason: string): boolean {
    return RETRYABLE_REASONS.includes(reason) || (this.hasJoined && AWAY.test(reason));
  }

  /** Sends what `transmit` returns until it returns nothing, as far as the socket takes it; returns whether it did. */
  send(transmit: () => Uint8Array | undefined): boolean {
    const before = this.bytesSent;
    while (this.isOpen && this.socket!.bufferedAmount < MAX_BUFFERED) {
      const packet = transmit();
      if (!packet) break;
      this.socket!.send(packet as Uint8Array<ArrayBuffer>);
      this.bytesSent += packet.byteLength;
      this.lastSent = performance.now();
    }
    return this.bytesSent > before;
  }

  /** Sends an empty packet when nothing else was sent for a while, and breaks a link whose server is silent. */
  keepAlive(now: number) {
    this.silence += Math.min(now - this.lastPoll, MAX_POLL_MS);
    this.lastPoll = now;
    if (this.socket === null) return;
    if (!this.hasOpened) {
      if (this.silence > MAX_CONNECTING_MS) this.breakOff("the server does not respond");
    } else if (this.silence > MAX_SILENCE_MS) {
      this.breakOff("the server is silent");
    } else if (now - this.lastSent > KEEP_ALIVE_MS) {
      this.socket.send(new Uint8Array(0));
      this.lastSent = now;
    }
  }

  /** Ends the link that there is, and tries it again. */
  breakOff(reason: string) {
    this.drop();
    this.events.broke(reason);
    // Its owner may have given it up over that.
    if (this.isClosed) return;
    if (AWAY.test(reason)) this.retryMs = RETRY_MS[1];
    this.timer = setTimeout(() => this.connect(), this.retryMs * (0.75 + Math.random() / 2));
    this.retryMs = Math.min(2 * this.retryMs, RETRY_MS[1]);
  }

  /** Ends it for good. */
  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.drop();
  }

  private drop() {
    const { socket } = this;
    this.socket = null;
    // One whose peer is gone may take minutes to close.
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    socket?.close();
  }

  private connect() {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    [this.socket, this.hasOpened, this.silence] = [socket, false, 0];
    socket.onopen = () => {
      [this.hasOpened, this.silence] = [true, 0];
      this.events.opened();
    };
    socket.onmessage = ({ data }) => {
      this.silence = 0;
      if (!(data instanceof ArrayBuffer)) return;
      this.bytesReceived += data.byteLength;
      // An empty packet is a sign of life.
      if (data.byteLength > 0) this.events.received(new Uint8Array(data));
    };
    socket.onclose = (event) => void this.closed(socket, event);
  }

  private async closed(socket: WebSocket, { code, reason }: CloseEvent) {
    const refused = this.hasOpened ? null : await refusal(socket.url);
    if (socket !== this.socket) return;
    const why = refused ?? reason;
    if ((refused === null && code !== REFUSED_CODE) || this.mayRetry(why)) {
      return this.breakOff(why || "the link is broken");
    }
    this.close();
    this.events.refused(why);
  }
}
