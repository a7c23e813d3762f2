/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

"use strict";
export const isIssueCardRequest = validate20;
const schema31 = {"$id":"IssueCardRequest","$ref":"document#/components/schemas/IssueCardRequest"};
const schema33 = {"type":"object","x-spec":"4.1","description":"The customer, and the field values of the card.","required":["customer"],"properties":{"fieldValues":{"$ref":"#/components/schemas/FieldValues"},"customer":{"$ref":"#/components/schemas/Customer"}}};
const schema34 = {"type":"object","x-spec":"2.1","description":"Map from a field key of the template to its value.","x-assumption":["field-values","points-field","name-field","template-definition"],"additionalProperties":{"type":["string","number"]}};
const schema35 = {"type":"object","x-spec":"2.3","description":"The customer, matched by phone, then by email.","x-assumption":["customer-members","blank-members"],"required":["consents"],"properties":{"phone":{"type":"string","description":"In E.164 or local format.","x-assumption":"phone-format"},"email":{"type":"string","description":"Matches the customer if no phone matches."},"name":{"type":"string","description":"The customer's name."},"consents":{"$ref":"#/components/schemas/Consents"}}};
const schema36 = {"type":"object","x-spec":"2.4","x-assumption":"consent-versions","description":"The consents given at sign-up.","required":["privacy"],"properties":{"privacy":{"type":"object","description":"The privacy text that the customer accepted.","required":["version"],"properties":{"version":{"type":"string","pattern":"\\S","description":"Version label of that text; not blank."}}},"marketing":{"type":"object","description":"Present only if the customer opted in to marketing; may be empty.","properties":{"version":{"type":"string","description":"Version label of the marketing text."}}}}};
const pattern4 = new RegExp("\\S", "u");

function validate23(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate23.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.consents === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "consents"},message:"must have required property '"+"consents"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.phone !== undefined){
if(typeof data.phone !== "string"){
const err1 = {instancePath:instancePath+"/phone",schemaPath:"#/properties/phone/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.email !== undefined){
if(typeof data.email !== "string"){
const err2 = {instancePath:instancePath+"/email",schemaPath:"#/properties/email/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.name !== undefined){
if(typeof data.name !== "string"){
const err3 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.consents !== undefined){
let data3 = data.consents;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.privacy === undefined){
const err4 = {instancePath:instancePath+"/consents",schemaPath:"#/components/schemas/Consents/required",keyword:"required",params:{missingProperty: "privacy"},message:"must have required property '"+"privacy"+"'"};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
if(data3.privacy !== undefined){
let data4 = data3.privacy;
if(data4 && typeof data4 == "object" && !Array.isArray(data4)){
if(data4.version === undefined){
const err5 = {instancePath:instancePath+"/consents/privacy",schemaPath:"#/components/schemas/Consents/properties/privacy/required",keyword:"required",params:{missingProperty: "version"},message:"must have required property '"+"version"+"'"};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
if(data4.version !== undefined){
let data5 = data4.version;
if(typeof data5 === "string"){
if(!pattern4.test(data5)){
const err6 = {instancePath:instancePath+"/consents/privacy/version",schemaPath:"#/components/schemas/Consents/properties/privacy/properties/version/pattern",keyword:"pattern",params:{pattern: "\\S"},message:"must match pattern \""+"\\S"+"\""};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/consents/privacy/version",schemaPath:"#/components/schemas/Consents/properties/privacy/properties/version/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/consents/privacy",schemaPath:"#/components/schemas/Consents/properties/privacy/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data3.marketing !== undefined){
let data6 = data3.marketing;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
if(data6.version !== undefined){
if(typeof data6.version !== "string"){
const err9 = {instancePath:instancePath+"/consents/marketing/version",schemaPath:"#/components/schemas/Consents/properties/marketing/properties/version/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath:instancePath+"/consents/marketing",schemaPath:"#/components/schemas/Consents/properties/marketing/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
else {
const err11 = {instancePath:instancePath+"/consents",schemaPath:"#/components/schemas/Consents/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
validate23.errors = vErrors;
return errors === 0;
}
validate23.evaluated = {"props":{"phone":true,"email":true,"name":true,"consents":true},"dynamicProps":false,"dynamicItems":false};


function validate22(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate22.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.customer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "customer"},message:"must have required property '"+"customer"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.fieldValues !== undefined){
let data0 = data.fieldValues;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
for(const key0 in data0){
let data1 = data0[key0];
if((typeof data1 !== "string") && (!(typeof data1 == "number"))){
const err1 = {instancePath:instancePath+"/fieldValues/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/components/schemas/FieldValues/additionalProperties/type",keyword:"type",params:{type: schema34.additionalProperties.type},message:"must be string,number"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
}
else {
const err2 = {instancePath:instancePath+"/fieldValues",schemaPath:"#/components/schemas/FieldValues/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.customer !== undefined){
if(!(validate23(data.customer, {instancePath:instancePath+"/customer",parentData:data,parentDataProperty:"customer",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate23.errors : vErrors.concat(validate23.errors);
errors = vErrors.length;
}
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate22.errors = vErrors;
return errors === 0;
}
validate22.evaluated = {"props":{"fieldValues":true,"customer":true},"dynamicProps":false,"dynamicItems":false};


function validate20(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="IssueCardRequest" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate20.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(!(validate22(data, {instancePath,parentData,parentDataProperty,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
validate20.errors = vErrors;
return errors === 0;
}
validate20.evaluated = {"props":{"fieldValues":true,"customer":true},"dynamicProps":false,"dynamicItems":false};

export const isConsentChange = validate26;
const schema37 = {"$id":"ConsentChange","$ref":"document#/components/schemas/ConsentChange"};
const schema38 = {"type":"object","x-spec":"4.5","description":"A change of the marketing consent.","required":["marketing"],"properties":{"marketing":{"type":"boolean","description":"true gives, false withdraws."},"version":{"type":"string","description":"Version label of the consent text, if known."}}};

function validate26(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
/*# sourceURL="ConsentChange" */;
let vErrors = null;
let errors = 0;
const evaluated0 = validate26.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.marketing === undefined){
const err0 = {instancePath,schemaPath:"document#/components/schemas/ConsentChange/required",keyword:"required",params:{missingProperty: "marketing"},message:"must have required property '"+"marketing"+"'"};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.marketing !== undefined){
if(typeof data.marketing !== "boolean"){
const err1 = {instancePath:instancePath+"/marketing",schemaPath:"document#/components/schemas/ConsentChange/properties/marketing/type",keyword:"type",params:{type: "boolean"},message:"must be boolean"};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.version !== undefined){
if(typeof data.version !== "string"){
const err2 = {instancePath:instancePath+"/version",schemaPath:"document#/components/schemas/ConsentChange/properties/version/type",keyword:"type",params:{type: "string"},message:"must be string"};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
else {
const err3 = {instancePath,schemaPath:"document#/components/schemas/ConsentChange/type",keyword:"type",params:{type: "object"},message:"must be object"};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate26.errors = vErrors;
return errors === 0;
}
validate26.evaluated = {"props":{"marketing":true,"version":true},"dynamicProps":false,"dynamicItems":false};
