/** Text for people: times of day, and lines that fit the terminal. */
import { stripVTControlCharacters } from "node:util";

/** The time of day on this machine: `12:31:07`. */
export function formatTime(atMs: number): string {
  const date = new Date(atMs);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Breaks a text between words. Each line has the indentation and is at most `width` long; a longer word is not broken. */
export function wrapText(text: string, width: number, indentation: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || getWidth(`${line} ${word}`) > width) lines.push(indentation + word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join("\n");
}

const getWidth = (text: string) => stripVTControlCharacters(text).length;
