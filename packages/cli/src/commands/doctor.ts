/** `doctor`: declares the command that checks the configuration and the service. */
import type { Command } from "commander";
import { addExamples, type Cli, setAction } from "../command.ts";

export function addDoctorCommand(program: Command, cli: Cli): void {
  const doctor = program
    .command("doctor")
    .description("check the configuration and the service")
    .option("--template <id>", "template to check (default: LOYALTY_TEMPLATE_ID)");
  addExamples(doctor, "loyalty-cards doctor", "loyalty-cards doctor --template tpl_bakery --json");
  setAction(cli, doctor, async () => (await import("../doctor/doctor.ts")).runDoctor);
}
