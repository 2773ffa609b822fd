// One line that comes and goes: "Link copied".

class Notice {
  text = $state("");
  #timer: ReturnType<typeof setTimeout> | undefined;

  say(text: string): void {
    this.text = text;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.text = ""), 2200);
  }
}

export const notice = new Notice();

export async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notice.say(said);
  } catch {
    // Without a secure context there is no clipboard; a selected text field does what it can.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    notice.say(done ? said : "The browser does not allow copying");
  }
}
