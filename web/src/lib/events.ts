// Server-sent events out of a byte stream. Written here because EventSource cannot send the token.

export interface ServerEvent {
  event: string;
  data: string;
}

export class EventParser {
  #rest = "";
  #event = "message";
  #data: string[] = [];

  /** The events that are complete once `text` has come. */
  push(text: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length) found.push({ event: this.#event, data: this.#data.join("\n") });
        this.#event = "message";
        this.#data = [];
      } else if (line.startsWith("data:")) this.#data.push(line.slice(5).replace(/^ /, ""));
      else if (line.startsWith("event:")) this.#event = line.slice(6).trim();
    }
    return found;
  }
}
