/** Waiting that ends: resolves when a time has passed, unless it is cancelled before. */
export function deadline(ms: number): { passed: Promise<undefined>; cancel: () => void } {
  let timer: ReturnType<typeof setTimeout>;
  const passed = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  return { passed, cancel: () => clearTimeout(timer) };
}
