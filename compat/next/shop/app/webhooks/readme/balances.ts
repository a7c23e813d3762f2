/** The reader's own code beside the route of the README, which the test copies here. */
export { saveBalance } from "../../../back-office";
