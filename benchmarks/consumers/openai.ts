import OpenAI from "openai";

const client = new OpenAI({ apiKey: "key" });

export async function greet(name: string): Promise<string> {
  try {
    const completion = await client.chat.completions.create({
      model: "gpt-4o",
      messages: [{ role: "user", content: `Greet ${name}` }],
    });
    return completion.choices[0]?.message.content ?? "";
  } catch (error) {
    if (error instanceof OpenAI.APIError) console.error(error.status, error.code);
    throw error;
  }
}
