/** Types of Express 4: those of Express 5, which fit the calls in the tests. */
declare module "express-4" {
  import express from "express";
  export default express;
}
