// Puts the same metric of several runs, or of several labels, on one axis.

import type { MetricCourse } from "$lib/types";

export interface Line {
  label: string;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  run: string;
}

export interface Aligned {
  xs: number[];
  lines: Line[];
}

/** Steps are the same in every run; times are not, so they count from each run's start. */
export function align(courses: readonly { course: MetricCourse; origin: number; several: boolean }[]): Aligned {
  const at = new Map<number, number>();
  const shifted = courses.map(({ course, origin }) => course.x.map((x) => (course.by === "time" ? x - origin : x)));
  for (const xs of shifted) for (const x of xs) at.set(x, 0);
  const xs = [...at.keys()].sort((a, b) => a - b);
  xs.forEach((x, index) => at.set(x, index));
  const lines: Line[] = [];
  courses.forEach(({ course, several }, which) => {
    const places = (shifted[which] ?? []).map((x) => at.get(x) ?? 0);
    const spread = (values: readonly (number | null)[]) => {
      const line: (number | null)[] = new Array<number | null>(xs.length).fill(null);
      places.forEach((place, index) => (line[place] = values[index] ?? null));
      return line;
    };
    for (const series of course.series) {
      const label = series.label === null ? "" : series.label || "no label";
      lines.push({
        label: [several ? course.run : "", label].filter(Boolean).join(" · ") || course.name,
        values: spread(series.values),
        low: spread(series.low),
        high: spread(series.high),
        run: course.run,
      });
    }
  });
  return { xs, lines };
}
